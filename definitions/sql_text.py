"""Normalise SQL text: remove line comments and white space, and put keywords in lower case.

The hashes of released views depend on this module, so it uses no parser: another version of the parser may
read SQL differently.
"""

import hashlib
import re

# Quotes come first: they may contain text that looks like a comment. The e of e'' must not be the end of a
# word.
TOKEN = re.compile(
    r"""
      (?P<quoted> (?<!\w) [eE] ' (?: \\. | '' | [^'\\] )* '
                | ' (?: '' | [^'] )* '
                | " (?: "" | [^"] )* "
                | (?<![\w$]) \$ (?P<tag> (?: [^\W\d] \w* )? ) \$ .*? \$ (?P=tag) \$ )
    | (?P<gap> (?: \s | --[^\n]* | /\* .*? \*/ )+ )
    | (?P<semicolon> ; )
    | (?P<word> \w+ )
    | (?P<mark> . )
    """,
    re.S | re.X,
)


def statements(text: str) -> list[str]:
    """Split a SQL text into its statements, each without surrounding comments and semicolon."""
    found = []
    start = end = 0
    for token in TOKEN.finditer(text):
        if token["semicolon"]:
            found.append(text[start:end])
            start = end = token.end()
        elif not token["gap"]:
            end = token.end()
        elif start == end:
            start = end = token.end()
    return [statement for statement in (*found, text[start:end]) if statement]


def first_statement(text: str) -> str:
    """Return the first statement of a SQL text, empty if there is none."""
    return next(iter(statements(text)), "")


def normal(sql: str) -> str:
    """Return SQL in lower case with single spaces, except in quotes; without comments and semicolon."""
    return ";".join(_normal(statement) for statement in statements(sql))


def sql_hash(sql: str) -> str:
    """Hash SQL, ignoring comments, white space, the case of keywords and a final semicolon."""
    return hashlib.sha256(normal(sql).encode()).hexdigest()


def _normal(statement: str) -> str:
    return "".join(
        " " if token["gap"] else token[0] if token["quoted"] else token[0].lower()
        for token in TOKEN.finditer(statement)
    )
