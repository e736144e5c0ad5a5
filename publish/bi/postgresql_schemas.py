"""The schemas of a PostgreSQL: what in them is ours, and how new ones take their place."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tracehouse.core.errors import UserError
from tracehouse.core.names import listed
from tracehouse.engines.duckdb.names import quoted
from tracehouse.publish.bi.contents import MARK

Ask = Callable[[str], list[tuple]]
"""Runs one statement and gives its rows, none where it has none."""

ASIDE = "__new"
LOCK_TIMEOUT_S = 10
SIGNED = "Published by Tracehouse."
"""What the comment on each schema ends in."""

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


def published_before(ask: Ask) -> list[str]:
    """The names of the tables and views that the publish before created; none where there was none."""
    marked = ask(
        f"""
        select 1 from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
        where n.nspname = 'catalog' and c.relname = 'contents' and obj_description(c.oid) = {quoted(MARK)}
        """
    )
    if not marked:
        return []
    names = [name for (name,) in ask("select name from catalog.contents order by name")]
    return [*names, "catalog.contents", "catalog.left_out"]


def check(ask: Ask, schemas: Collection[str], ours: Collection[str]) -> None:
    """Raise UserError unless schemas hold nothing but what is ours, and nothing else reads that."""
    aside = [f"{schema}{ASIDE}" for schema in schemas]
    left = ask(
        f"""
        select nspname from pg_namespace
        where nspname in ({_texts(aside)})
        and obj_description(oid, 'pg_namespace') like {quoted("%" + SIGNED)}
        """
    )
    its_own = {name for (name,) in left}
    texts = _texts([*schemas, *aside])
    foreign = [
        name
        for (name,) in ask(_OBJECTS.format(schemas=texts))
        if name not in ours and name.partition(".")[0] not in its_own
    ]
    if foreign:
        raise UserError(
            f"{listed(foreign, 5)}: this was not published by `traces publish`, and schemas that hold it are "
            "not touched. Move it to another schema, or publish to another database"
        )
    readers = [name for (name,) in ask(_READERS.format(schemas=texts))]
    if readers:
        raise UserError(
            f"{listed(readers, 5)}: this reads tables that would be replaced, and would go with them. Drop "
            "it, publish, and create it again"
        )


def drop_aside(ask: Ask, schema: str) -> None:
    """Remove what a publish that did not end left beside a schema."""
    ask(f'drop schema if exists "{schema}{ASIDE}" cascade')


def take_their_place(ask: Ask, schemas: Sequence[str], ours: Collection[str]) -> None:
    """Give the schemas that were built aside their names, in place of those of before, within a transaction.

    Who could read a table of before can read the one of its name. Whatever of before is not ours stops it.
    """
    before = dict.fromkeys([*(name.partition(".")[0] for name in ours), *schemas])
    texts, names = _texts(before), _texts(ours)
    ask(f"set local lock_timeout = '{LOCK_TIMEOUT_S}s'")
    grants = []
    if ours:
        grants = ask(_GRANTS.format(schemas=texts, names=names, grantee=_GRANTEE))
        kinds: list[tuple[str, Any]] = ask(
            f"""
            select n.nspname || '.' || c.relname, c.relkind::text
            from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
            where n.nspname || '.' || c.relname in ({names})
            """
        )
        for kind, word in (("v", "view"), ("r", "table")):
            if old := ", ".join(_identifier(name) for name, found in kinds if found == kind):
                ask(f"drop {word} {old}")
    for schema in before:
        ask(f'drop schema if exists "{schema}"')
    for schema in schemas:
        ask(f'alter schema "{schema}{ASIDE}" rename to "{schema}"')
    there = {name for (name,) in ask(_OBJECTS.format(schemas=_texts(schemas)))} | set(schemas)
    for target, grant in grants:
        if target in there:
            ask(grant)


def _texts(texts: Collection[str]) -> str:
    return ", ".join(quoted(text) for text in texts) or "null"


def _identifier(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))
