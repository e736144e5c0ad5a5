-- Join coverage of tables (PAI tables)
-- column: left_matched_pct: Share of the rows on the left that have a partner
-- column: right_matched_pct: Share of the rows on the right that have a partner
-- chart: bar x=join_name y=left_matched_pct yname=rows_of_the_first_table_with_a_match_pct
create or replace macro pai.coverage() as table
select
    join_name,
    left_table,
    right_table,
    100.0 * left_matched / nullif(left_rows, 0) as left_matched_pct,
    100.0 * right_matched / nullif(right_rows, 0) as right_matched_pct,
    left_multiply_matched,
    right_multiply_matched
from pai.join_coverage
order by join_name;

comment on macro table pai.coverage is 'Share of the rows on each side of each join that have a partner on the other side, and the number of rows with several partners.';
