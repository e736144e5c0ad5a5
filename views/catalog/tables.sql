-- The catalog's own tables: what the warehouse's numbers mean and where they come from.
create schema if not exists catalog;

create table catalog.traces (
    trace varchar,
    title varchar,
    publisher varchar,
    homepage varchar,
    download varchar,
    licence varchar,
    citation varchar
);
comment on table catalog.traces is 'The data sets that the warehouse knows: one row per trace.';
comment on column catalog.traces.trace is 'Name of the trace, and of its schema.';
comment on column catalog.traces.title is 'What the publisher calls the data set.';
comment on column catalog.traces.publisher is 'Who published it.';
comment on column catalog.traces.homepage is 'Where it is described.';
comment on column catalog.traces.download is 'Where its raw files come from.';
comment on column catalog.traces.licence is 'The terms that it is published under.';
comment on column catalog.traces.citation is 'What to cite when you use it.';

create table catalog.tables (
    table_name varchar,
    trace varchar,
    row_count bigint,
    files bigint,
    bytes bigint,
    synthetic boolean,
    incomplete varchar,
    tried_on varchar,
    grain varchar,
    source varchar
);
comment on table catalog.tables is 'The base tables: one row per table, including tables without data.';
comment on column catalog.tables.table_name is 'Name of the table, with its schema.';
comment on column catalog.tables.trace is 'Trace that the table belongs to.';
comment on column catalog.tables.row_count is 'Number of rows; 0 if no raw files were ingested.';
comment on column catalog.tables.files is 'Number of Parquet files of the table.';
comment on column catalog.tables.bytes is 'Size of those files in bytes.';
comment on column catalog.tables.synthetic is 'Whether any row comes from a synthetic dump.';
comment on column catalog.tables.incomplete is 'How much of the publisher''s complete table it has, such as 12,000 of 7,522,002 rows; NULL if all of it, or if the size of the complete table is not known.';
comment on column catalog.tables.tried_on is 'Which files of the publisher the table''s declaration was tried on: real files, part of a file, or format only, if it follows the publisher''s documents alone, which a real file may contradict.';
comment on column catalog.tables.grain is 'What one row represents.';
comment on column catalog.tables.source is 'Where the publisher documents the table.';

create table catalog.sources (
    trace varchar,
    table_name varchar,
    file varchar,
    member varchar,
    sha256 varchar,
    bytes bigint,
    parts bigint,
    rows_read bigint,
    rows_kept bigint,
    rows_rejected bigint,
    rows_stored bigint,
    checksum varchar,
    synthetic boolean,
    published_rows bigint
);
comment on table catalog.sources is 'The raw files: one row per CSV that was read, packed or not.';
comment on column catalog.sources.trace is 'Trace that the file belongs to.';
comment on column catalog.sources.table_name is 'Base table that its rows went to, with its schema.';
comment on column catalog.sources.file is 'Path of the raw file below its raw folder.';
comment on column catalog.sources.member is 'Path of the CSV within the raw file.';
comment on column catalog.sources.sha256 is 'SHA-256 of the raw file, with its parts joined.';
comment on column catalog.sources.bytes is 'Size of the raw file in bytes, with its parts joined.';
comment on column catalog.sources.parts is 'Number of parts of the raw file.';
comment on column catalog.sources.rows_read is 'Rows in the CSV.';
comment on column catalog.sources.rows_kept is 'Rows that were converted; see rows_stored.';
comment on column catalog.sources.rows_rejected is 'Rows that did not fit; see catalog.rejected_rows.';
comment on column catalog.sources.rows_stored is 'Rows of the base table: for a wide file, one per cell of the rows kept.';
comment on column catalog.sources.checksum is 'published: the publisher prints this checksum; differs: the publisher prints another one; none published.';
comment on column catalog.sources.synthetic is 'Whether the file is synthetic; figures computed from it are not measured.';
comment on column catalog.sources.published_rows is 'Rows of the complete file; NULL if they are not known.';

create table catalog.caveats (
    caveat varchar,
    trace varchar,
    severity varchar,
    summary varchar,
    objects varchar[],
    what_goes_wrong varchar,
    what_to_do varchar,
    documented_in varchar,
    raw_files varchar
);
comment on table catalog.caveats is 'The caveats of the traces: one row per known pitfall.';
comment on column catalog.caveats.caveat is 'Name of the caveat.';
comment on column catalog.caveats.trace is 'Trace that it belongs to.';
comment on column catalog.caveats.severity is 'What happens if it is ignored: wrong result, limited result (it covers or can show less than it seems to), or background (ingest or a view handles it).';
comment on column catalog.caveats.summary is 'The caveat in one sentence.';
comment on column catalog.caveats.objects is 'Tables, columns, views and queries that the caveat is about.';
comment on column catalog.caveats.what_goes_wrong is 'What goes wrong if it is ignored.';
comment on column catalog.caveats.what_to_do is 'What to do about it.';
comment on column catalog.caveats.documented_in is 'Where it is documented, or how it was found.';
comment on column catalog.caveats.raw_files is 'Pattern of the raw files that it is about, empty for all: answers list it if one of them is in the warehouse.';

create table catalog.clocks (
    clock varchar,
    trace varchar,
    objects varchar[],
    epoch varchar,
    zone varchar,
    local_offset_s double,
    scale double,
    resolution_s double,
    true_parts varchar,
    fake_parts varchar,
    documented_in varchar
);
comment on table catalog.clocks is 'The clocks of the traces: what is true and what is fake about their times.';
comment on column catalog.clocks.clock is 'Name of the clock.';
comment on column catalog.clocks.trace is 'Trace whose times use the clock.';
comment on column catalog.clocks.objects is 'Tables or columns with its times.';
comment on column catalog.clocks.epoch is 'What time 0 means.';
comment on column catalog.clocks.zone is 'Time zone of its hours and weekdays.';
comment on column catalog.clocks.local_offset_s is 'Seconds to add to a time, after scaling, to get the local hour and weekday of the cluster; NULL if unknown.';
comment on column catalog.clocks.scale is 'Seconds that pass while the clock counts one.';
comment on column catalog.clocks.resolution_s is 'Smallest step in seconds.';
comment on column catalog.clocks.true_parts is 'Parts of a time that are true: hour of day, weekday, date, differences.';
comment on column catalog.clocks.fake_parts is 'Parts of a time that are not true.';
comment on column catalog.clocks.documented_in is 'Where that is documented, or how it was found.';

create table catalog.reference_curves (
    trace varchar,
    curve varchar,
    percentile double,
    value double
);
comment on table catalog.reference_curves is 'Published distribution curves, thinned: one row per point. Acme''s are by Shanghai AI Laboratory, CC BY 4.0, converted from its pickles.';
comment on column catalog.reference_curves.trace is 'Trace whose publisher published the curve.';
comment on column catalog.reference_curves.curve is 'Name of the curve: cluster, quantity and unit.';
comment on column catalog.reference_curves.percentile is 'Percentile, from 0 to 100.';
comment on column catalog.reference_curves.value is 'Value that this percentage of the samples does not exceed, in the curve''s unit, to five digits.';

create table catalog.published (
    figure varchar,
    trace varchar,
    statement varchar,
    relation varchar,
    value double,
    unit varchar,
    tolerance double,
    measured_by varchar,
    explanation varchar,
    explained_value double,
    explained_tolerance double,
    needs_file varchar,
    printed_in varchar,
    trust varchar,
    reads varchar[]
);
comment on table catalog.published is 'The figures that documents print: one row per value, with where it is printed and the SQL that measures it.';
comment on column catalog.published.figure is 'Name of the figure.';
comment on column catalog.published.trace is 'Trace that it is about.';
comment on column catalog.published.statement is 'The claim as a sentence, which contains the value.';
comment on column catalog.published.relation is 'How the measured value should compare with the published one: equal, at least or at most.';
comment on column catalog.published.value is 'The published value.';
comment on column catalog.published.unit is 'Its unit.';
comment on column catalog.published.tolerance is 'Largest difference, in the unit, that still reproduces the value: it allows for rounding or reading off a figure.';
comment on column catalog.published.measured_by is 'Query that returns the measured value; empty if it is not measurable.';
comment on column catalog.published.explanation is 'Why the measured value differs or uses another definition; empty if it should agree.';
comment on column catalog.published.explained_value is 'Value that the explanation leads to: a measured value near it differs as explained. NULL if no explanation is needed, or if nobody has measured the value on the complete files.';
comment on column catalog.published.explained_tolerance is 'Largest difference from explained_value, in the unit, that is still as explained.';
comment on column catalog.published.needs_file is 'Raw CSV that the figure is about, if its table has several: without it, the figure has no data; otherwise empty.';
comment on column catalog.published.printed_in is 'Document that prints the value, and where in it.';
comment on column catalog.published.trust is 'Kind of source: publisher; paper; read off a figure; slides; quoted, seen only as others quote it; recalled, from memory; or third party, printed by others.';
comment on column catalog.published.reads is 'Named queries, views and tables that the query reads.';

create table catalog.expected (
    figure varchar,
    trace varchar,
    statement varchar,
    relation varchar,
    value double,
    unit varchar,
    tolerance double,
    measured_by varchar,
    explanation varchar,
    explained_value double,
    explained_tolerance double,
    needs_file varchar,
    reads varchar[]
);
comment on table catalog.expected is 'Counts of the published files that no document prints: one row per value. They find changed files and SQL, and verify nothing; traces check compares them.';
comment on column catalog.expected.figure is 'Name of the figure.';
comment on column catalog.expected.trace is 'Trace that it is about.';
comment on column catalog.expected.statement is 'The claim as a sentence, which contains the value.';
comment on column catalog.expected.relation is 'How the measured value should compare with the expected one: equal, at least or at most.';
comment on column catalog.expected.value is 'The expected value.';
comment on column catalog.expected.unit is 'Its unit.';
comment on column catalog.expected.tolerance is 'Largest difference, in the unit, that still agrees.';
comment on column catalog.expected.measured_by is 'Query that returns the measured value.';
comment on column catalog.expected.explanation is 'Which definition the measured value uses where the count does not say; empty otherwise.';
comment on column catalog.expected.explained_value is 'Value that the explanation leads to; NULL if the count should agree.';
comment on column catalog.expected.explained_tolerance is 'Largest difference from explained_value, in the unit, that is still as explained.';
comment on column catalog.expected.needs_file is 'Raw CSV that the figure is about, if its table has several: without it, the figure has no data; otherwise empty.';
comment on column catalog.expected.reads is 'Named queries, views and tables that the query reads.';

create table catalog.metrics (
    trace varchar,
    metric varchar,
    exactness varchar,
    reason varchar,
    answered_by varchar
);
comment on table catalog.metrics is 'The metrics that each trace supports: one row per trace and metric.';
comment on column catalog.metrics.trace is 'Trace.';
comment on column catalog.metrics.metric is 'Metric; every trace has a row for each.';
comment on column catalog.metrics.exactness is 'exact; approximate; or impossible, if the trace does not record it.';
comment on column catalog.metrics.reason is 'What the value is, or why there is none.';
comment on column catalog.metrics.answered_by is 'View or named query that computes it; empty if it is impossible.';

create table catalog.not_recorded (
    view_name varchar,
    versioned_name varchar,
    trace varchar,
    column_name varchar,
    quantity varchar
);
comment on table catalog.not_recorded is 'Columns of the views that unite traces that a trace does not record: one row per view, trace and column.';
comment on column catalog.not_recorded.view_name is 'Plain name of the view, such as unified.jobs.';
comment on column catalog.not_recorded.versioned_name is 'Its name with the version.';
comment on column catalog.not_recorded.trace is 'Trace whose rows have no value: NULL, or the text unknown.';
comment on column catalog.not_recorded.column_name is 'The column.';
comment on column catalog.not_recorded.quantity is 'What the trace does not record, in words, such as waits.';

create table catalog.views (
    view_name varchar,
    trace varchar,
    version bigint,
    versioned_name varchar,
    title varchar,
    grain varchar,
    source varchar,
    status varchar,
    is_current boolean,
    sha256 varchar,
    reads varchar[],
    base_tables varchar[],
    caveats varchar[],
    engine varchar,
    stored boolean,
    stored_at timestamp,
    stored_bytes bigint,
    stored_files varchar[],
    sql varchar
);
comment on table catalog.views is 'The views: one row per version of a view.';
comment on column catalog.views.view_name is 'Plain name of the view, which refers to its newest released version.';
comment on column catalog.views.trace is 'Schema of the view: a trace, or unified.';
comment on column catalog.views.version is 'Version, from 1.';
comment on column catalog.views.versioned_name is 'Name to cite: its meaning never changes after release.';
comment on column catalog.views.title is 'Title of the view.';
comment on column catalog.views.grain is 'What one row represents.';
comment on column catalog.views.source is 'Where its joins and formulas are documented.';
comment on column catalog.views.status is 'released: its meaning is fixed; draft: it may still change; local: from the warehouse''s own folder local.';
comment on column catalog.views.is_current is 'Whether the plain name refers to this version.';
comment on column catalog.views.sha256 is 'Hash of its statement without white space, comments and the case of keywords.';
comment on column catalog.views.reads is 'Tables and views that it reads.';
comment on column catalog.views.base_tables is 'Base tables that it reads, directly or through views.';
comment on column catalog.views.caveats is 'Caveats that still apply to its numbers, including those of the views it reads.';
comment on column catalog.views.engine is 'Engine that it needs if its SQL is not portable; any.';
comment on column catalog.views.stored is 'Whether the view is materialized: its rows are read from Parquet files that were written after an ingest.';
comment on column catalog.views.stored_at is 'When the last of these files was written, in UTC; NULL if the view is not materialized.';
comment on column catalog.views.stored_bytes is 'Size of these files in bytes; NULL if the view is not materialized.';
comment on column catalog.views.stored_files is 'Paths of these files below the warehouse; for partitions, only files with rows.';
comment on column catalog.views.sql is 'Definition of the view.';

create table catalog.queries (
    query_name varchar,
    trace varchar,
    title varchar,
    description varchar,
    chart varchar,
    reads varchar[],
    reads_versions varchar[],
    base_tables varchar[],
    needs varchar[],
    caveats varchar[],
    sha256 varchar,
    sql varchar
);
comment on table catalog.queries is 'The named queries: one row per table macro.';
comment on column catalog.queries.query_name is 'Name of the query, and of its macro.';
comment on column catalog.queries.trace is 'Schema of the query: a trace, or unified.';
comment on column catalog.queries.title is 'Title of the query.';
comment on column catalog.queries.description is 'What the answer contains.';
comment on column catalog.queries.chart is 'How to draw the answer: kind of chart, then column per axis.';
comment on column catalog.queries.reads is 'Tables and views that it reads.';
comment on column catalog.queries.reads_versions is 'Versions of these views in this database. Cite them with the hash: a plain name refers to the newest released version.';
comment on column catalog.queries.base_tables is 'Base tables that it reads, directly or through views.';
comment on column catalog.queries.needs is 'Columns of these views without which it leaves a row out.';
comment on column catalog.queries.caveats is 'Caveats that still apply to its numbers.';
comment on column catalog.queries.sha256 is 'Hash of its statement without white space, comments and the case of keywords.';
comment on column catalog.queries.sql is 'Its definition.';

create table catalog.query_parameters (
    query_name varchar,
    position bigint,
    parameter varchar,
    type varchar,
    default_value varchar,
    meaning varchar,
    choices varchar[],
    at_least varchar,
    at_most varchar,
    values_of varchar,
    is_list boolean,
    table_columns varchar[]
);
comment on table catalog.query_parameters is 'The parameters of the named queries: one row per parameter.';
comment on column catalog.query_parameters.query_name is 'Query that takes it.';
comment on column catalog.query_parameters.position is 'Its place among the parameters, from 1.';
comment on column catalog.query_parameters.parameter is 'Its name.';
comment on column catalog.query_parameters.type is 'Its SQL type.';
comment on column catalog.query_parameters.default_value is 'Default value, as SQL.';
comment on column catalog.query_parameters.meaning is 'What it means.';
comment on column catalog.query_parameters.choices is 'Allowed values; if empty, any value of its type within the limits.';
comment on column catalog.query_parameters.at_least is 'Smallest allowed value, as text; NULL: no limit.';
comment on column catalog.query_parameters.at_most is 'Largest allowed value, as text; NULL: no limit.';
comment on column catalog.query_parameters.values_of is 'Column (schema.table.column) whose values are allowed; NULL: none.';
comment on column catalog.query_parameters.is_list is 'Whether it takes several of these values, separated by commas.';
comment on column catalog.query_parameters.table_columns is 'Columns of the table or view that it names; empty if it names none.';

create table catalog.rules (
    check_name varchar,
    trace varchar,
    sql varchar
);
comment on table catalog.rules is 'The data-quality rules one by one; catalog.checks evaluates all of them at once and needs more memory.';
comment on column catalog.rules.check_name is 'Name of the rule.';
comment on column catalog.rules.trace is 'Trace that it belongs to.';
comment on column catalog.rules.sql is 'Statement that returns the rule''s row of catalog.checks.';

create table catalog.not_built (
    object_name varchar,
    error varchar
);
comment on table catalog.not_built is 'Views and queries that could not be created, Tracehouse''s and those in the folder local: one row per file.';
comment on column catalog.not_built.object_name is 'Plain name of the view or query in the file, with its schema.';
comment on column catalog.not_built.error is 'What is wrong, with file and line.';

create table catalog.columns (
    object_name varchar,
    position bigint,
    column_name varchar,
    type varchar,
    unit varchar,
    provenance varchar,
    meaning varchar,
    lineage varchar[],
    caveats varchar[]
);
comment on table catalog.columns is 'The columns of every base table, view and answer of a named query: one row per column.';
comment on column catalog.columns.object_name is 'Base table, named query or versioned view, with its schema; the current version of a view also by its plain name.';
comment on column catalog.columns.position is 'Place among the columns, from 1.';
comment on column catalog.columns.column_name is 'Name of the column.';
comment on column catalog.columns.type is 'SQL type; NULL for a named query, whose types DESCRIBE shows.';
comment on column catalog.columns.unit is 'Unit; empty for labels, ranks and indexes.';
comment on column catalog.columns.provenance is 'measured, derived or synthetic.';
comment on column catalog.columns.meaning is 'What it means.';
comment on column catalog.columns.lineage is 'Columns that it is computed from, in the tables and views that the view reads; for a query, the column that it passes on, if any.';
comment on column catalog.columns.caveats is 'Caveats about this column of a view; catalog.views has those about all rows.';
