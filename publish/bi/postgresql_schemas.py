"""Check and swap the published schemas of a PostgreSQL database."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tracehouse.core.errors import UserError
from tracehouse.core.text import join_names, quoted
from tracehouse.publish.bi.contents import MARKER_COMMENT

RunStatement = Callable[[str], list[tuple]]
"""Runs one statement and returns its rows."""

STAGING_SUFFIX = "__new"
LOCK_TIMEOUT_S = 10
SIGNATURE = "Published by Tracehouse."
"""The end of the comment on each published schema."""

_OBJECTS = """
    select n.nspname || '.' || c.relname as name
    from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
    where n.nspname in ({schemas}) and c.relkind in ('r', 'v', 'm', 'p', 'f', 'S', 'c')
    union all
    select n.nspname || '.' || p.proname || '()'
    from pg_proc as p inner join pg_namespace as n on p.pronamespace = n.oid
    where n.nspname in ({schemas})
    union all
    select n.nspname || '.' || t.typname
    from pg_type as t inner join pg_namespace as n on t.typnamespace = n.oid
    where n.nspname in ({schemas}) and t.typtype in ('d', 'e', 'r')
    order by 1
"""
_READERS = """
    select distinct rn.nspname || '.' || rc.relname
    from pg_depend as d
    inner join pg_rewrite as r on d.objid = r.oid and d.classid = 'pg_rewrite'::regclass
    inner join pg_class as rc on r.ev_class = rc.oid
    inner join pg_namespace as rn on rc.relnamespace = rn.oid
    inner join pg_class as c on d.refobjid = c.oid and d.refclassid = 'pg_class'::regclass
    inner join pg_namespace as n on c.relnamespace = n.oid
    where n.nspname in ({schemas}) and rn.nspname not in ({schemas})
    order by 1
"""
_GRANTS = """
    select n.nspname, format('grant %s on schema %I to %s', a.privilege_type, n.nspname, {grantee})
    from pg_namespace as n, aclexplode(n.nspacl) as a
    where n.nspname in ({schemas}) and a.grantee <> n.nspowner
    union all
    select
        n.nspname || '.' || c.relname,
        format('grant %s on %I.%I to %s', a.privilege_type, n.nspname, c.relname, {grantee})
    from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid, aclexplode(c.relacl) as a
    where n.nspname in ({schemas}) and a.grantee <> c.relowner and n.nspname || '.' || c.relname in ({names})
"""
_GRANTEE = "case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end"


def list_published(run: RunStatement) -> list[str]:
    """The names of the tables and views that the previous publish created."""
    marked = run(
        f"""
        select 1 from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid where n.nspname =
        'catalog' and c.relname = 'contents' and obj_description(c.oid) = {quoted(MARKER_COMMENT)}
        """
    )
    if not marked:
        return []
    names = [name for (name,) in run("select name from catalog.contents order by name")]
    return [*names, "catalog.contents", "catalog.left_out"]


def check(run: RunStatement, schemas: Collection[str], published: Collection[str]) -> None:
    """Raise UserError if schemas have objects that were not published, or if objects elsewhere read them."""
    staging = [f"{schema}{STAGING_SUFFIX}" for schema in schemas]
    leftovers = run(
        f"""
        select nspname from pg_namespace
        where nspname in ({_sql_list(staging)})
        and obj_description(oid, 'pg_namespace') like {quoted("%" + SIGNATURE)}
        """
    )
    own_staging = {name for (name,) in leftovers}
    schema_list = _sql_list([*schemas, *staging])
    foreign = [
        name
        for (name,) in run(_OBJECTS.format(schemas=schema_list))
        if name not in published and name.partition(".")[0] not in own_staging
    ]
    if foreign:
        raise UserError(
            f"{join_names(foreign, 5)}: not created by `traces publish`, so its schema is not replaced. "
            "Move it to another schema, or publish to another database"
        )
    readers = [name for (name,) in run(_READERS.format(schemas=schema_list))]
    if readers:
        raise UserError(
            f"{join_names(readers, 5)}: reads tables that would be replaced, and would be dropped with them. "
            "Drop it, publish, and create it again"
        )


def drop_staging(run: RunStatement, schema: str) -> None:
    """Drop the temporary schema of an interrupted publish."""
    run(f'drop schema if exists "{schema}{STAGING_SUFFIX}" cascade')


def swap(run: RunStatement, schemas: Sequence[str], published: Collection[str]) -> None:
    """Replace published schemas by the temporary ones, within a transaction.

    Grants on replaced tables are repeated on the new ones. `drop schema` fails if a schema still has other
    objects.
    """
    before = dict.fromkeys([*(name.partition(".")[0] for name in published), *schemas])
    schema_list, names = _sql_list(before), _sql_list(published)
    run(f"set local lock_timeout = '{LOCK_TIMEOUT_S}s'")
    grants = []
    if published:
        grants = run(_GRANTS.format(schemas=schema_list, names=names, grantee=_GRANTEE))
        kinds: list[tuple[str, Any]] = run(
            f"""
            select n.nspname || '.' || c.relname, c.relkind::text
            from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
            where n.nspname || '.' || c.relname in ({names})
            """
        )
        for kind, word in (("v", "view"), ("r", "table")):
            if old := ", ".join(_identifier(name) for name, found in kinds if found == kind):
                run(f"drop {word} {old}")
    for schema in before:
        run(f'drop schema if exists "{schema}"')
    for schema in schemas:
        run(f'alter schema "{schema}{STAGING_SUFFIX}" rename to "{schema}"')
    there = {name for (name,) in run(_OBJECTS.format(schemas=_sql_list(schemas)))} | set(schemas)
    for target, grant in grants:
        if target in there:
            run(grant)


def _sql_list(texts: Collection[str]) -> str:
    return ", ".join(quoted(text) for text in texts) or "null"


def _identifier(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))
