-- What `traces describe` shows, from the catalog: a row of the object that is called $name (name, title, facts by
-- name, SQL), and the tables of its description. `query/parameters` is the table of parameters of a query.

-- describe: table
select
    table_name as name,
    (
        select comment from duckdb_tables() where schema_name || '.' || table_name = $name
        union all
        select comment from duckdb_views() where schema_name || '.' || view_name = $name
    ) as title,
    'base table' as kind,
    case when row_count = 0 then 'no data' else format('{:,} rows', row_count) end
    || case
        when synthetic and table_name in (select table_name from catalog.sources where not synthetic)
            then ', partly synthetic'
        when synthetic then ', synthetic'
        else ''
    end as data,
    grain,
    source,
    licence,
    citation as cite
from catalog.tables
inner join catalog.traces on tables.trace = traces.trace
where table_name = $name;

-- describe: table/columns, view/columns
select column_name as "column", type, unit, provenance, meaning
from catalog.columns where object_name = $name order by position;

-- describe: view
select
    views.versioned_name as name,
    views.title,
    format('view, version {}, {}', views.version, views.status) as kind,
    (
        select
            string_agg(format('{} ({})', versioned_name, status), ', ' order by version)
            || coalesce(
                format('; {} is {}', views.view_name, any_value(versioned_name) filter (where is_current)), ''
            )
        from catalog.views as versions
        where versions.view_name = views.view_name
    ) as versions,
    views.grain,
    views.source,
    array_to_string(views.reads, ', ') as reads,
    views.engine,
    case when views.stored then format(
        'since {} UTC, {} MB in {} file{}, computed from {}',
        strftime(views.stored_at, '%Y-%m-%d %H:%M'),
        format('{:,}', cast(views.stored_bytes / 1e6 as decimal(18, 1))),
        len(views.stored_files),
        case when len(views.stored_files) = 1 then '' else 's' end,
        array_to_string(views.base_tables, ', ')
    ) end as stored,
    views.sql
from catalog.views as views
where $name = views.versioned_name or ($name = views.view_name and views.is_current);

-- describe: query
select
    query_name as name,
    title,
    'named query' as kind,
    description as answer,
    array_to_string(reads, ', ') as reads,
    array_to_string(reads_versions, ', ') as "in versions",
    chart,
    sql
from catalog.queries where query_name = $name;

-- describe: query/parameters
select
    parameter,
    type,
    default_value as "default",
    meaning,
    case
        when at_least is not null then at_least || ' to ' || at_most
        when values_of is not null
            then 'values of ' || values_of || case when is_list then ', separated by commas' else '' end
        when len(table_columns) > 0 then 'table with ' || array_to_string(table_columns, ', ')
        else array_to_string(choices, ' | ')
    end as choices
from catalog.query_parameters where query_name = $name order by position;

-- describe: query/columns
select column_name as "column", type, unit, provenance, meaning
from catalog.columns where object_name = $name order by position;

-- describe: trace
select
    trace as name,
    title,
    'trace' as kind,
    publisher,
    homepage,
    download as "raw files",
    licence,
    citation as cite,
    (
        select string_agg(caveat, ', ' order by caveat)
        from catalog.caveats where caveats.trace = traces.trace
    ) as caveats
from catalog.traces where trace = $name;

-- describe: trace/tables
select
    table_name as "table",
    case
        when row_count = 0 then 'no data'
        when synthetic and table_name in (select table_name from catalog.sources where not synthetic)
            then 'partly synthetic'
        when synthetic then 'synthetic'
        else 'published'
    end as data,
    format('{:,}', row_count) as rows,
    grain
from catalog.tables where trace = $name order by table_name;

-- describe: trace/clocks
select clock, epoch as "counts from", zone, true_parts as "true", fake_parts as "not true"
from catalog.clocks where trace = $name order by clock;

-- describe: trace/metrics
select metric, exactness, answered_by as "answered by", reason
from catalog.metrics where trace = $name order by metric;

-- describe: caveat
select
    caveat as name,
    what_goes_wrong as title,
    'caveat of ' || trace as kind,
    severity || case when severity = 'background' then '' else ' if ignored' end as severity,
    what_to_do as "what to do",
    documented_in as "documented in",
    array_to_string(list_sort(objects), ', ') as touches
from catalog.caveats where caveat = $name;

-- describe: caveat/columns of views
select object_name as view, string_agg(column_name, ', ' order by position) as columns
from catalog.columns
where list_contains(caveats, $name) and object_name in (select view_name from catalog.views)
group by object_name order by object_name;

-- describe: figure
select
    figure as name,
    statement as title,
    'published figure of ' || trace as kind,
    concat_ws(' ', nullif(relation, 'equal'), numbers[1], unit) as published,
    numbers[2] as tolerance,
    printed_in as "printed in",
    trust,
    explanation as "why it differs",
    numbers[3] || ' within ' || numbers[4] as "value that this explains",
    needs_file as "needs the file",
    array_to_string(reads, ', ') as reads,
    measured_by as sql
from
    (
        select
            *,
            list_transform(
                [value, tolerance, explained_value, explained_tolerance],
                lambda number: regexp_replace(format('{:,}', number), '\.0$', '')
            ) as numbers
        from catalog.published
    )
where figure = $name;

-- describe: catalog table
select
    $name as name,
    (
        select comment from duckdb_tables() where schema_name || '.' || table_name = $name
        union all
        select comment from duckdb_views() where schema_name || '.' || view_name = $name
    ) as title,
    'table of the catalog' as kind
where $name in (select schema_name || '.' || table_name from duckdb_columns() where schema_name = 'catalog');

-- describe: catalog table/columns
select column_name as "column", data_type as type, comment as meaning from duckdb_columns()
where database_name = current_database() and schema_name || '.' || table_name = $name
    and schema_name = 'catalog'
order by column_index;

-- describe: column
with recursive origins as (
    select unnest(lineage) as name from catalog.columns where object_name || '.' || column_name = $name
    union
    select unnest(columns.lineage)
    from catalog.columns as columns
    inner join origins on columns.object_name || '.' || columns.column_name = origins.name
)

select
    object_name || '.' || column_name as name,
    meaning as title,
    format(
        'column of the {} {}',
        case
            when type is null then 'query'
            when object_name in (select table_name from catalog.tables) then 'table'
            else 'view'
        end,
        object_name
    ) as kind,
    type,
    unit,
    provenance,
    array_to_string(lineage, ', ') as "computed from",
    (
        select string_agg(origins.name, ', ' order by origins.name)
        from origins
        where
            origins.name not in (
                select object_name || '.' || column_name from catalog.columns where len(lineage) > 0
            )
        having list_sort(list(origins.name)) <> list_sort(lineage)
    ) as "base columns"
from catalog.columns where object_name || '.' || column_name = $name;

-- describe: catalog column
select
    $name as name,
    comment as title,
    format('column of the table {}.{}', schema_name, table_name) as kind,
    data_type as type
from duckdb_columns()
where database_name = current_database() and schema_name = 'catalog'
    and schema_name || '.' || table_name || '.' || column_name = $name;
