"""Tables of LaTeX, read by somebody who has no LaTeX."""

from __future__ import annotations

import re
from typing import NamedTuple

_ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w+)\}")
_SHOWN = {
    **{rf"\{letter}": letter for letter in "&%$#_{}"},
    **{f"{{{letter}}}": letter for letter in "[]*`"},
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"{\char34}": '"',
    "{}": "",
}
_ESCAPED = re.compile("|".join(map(re.escape, _SHOWN)))


class LatexTable(NamedTuple):
    """A table as a reader sees it."""

    caption: str
    heads: list[str]
    rows: list[list[str]]


def latex_tables(text: str) -> list[LatexTable]:
    """Return the tables of a document; AssertionError unless braces, environments and columns fit."""
    text = re.sub(r"(?m)^%.*\n", "", text)
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0, text
    opened: list[str] = []
    for verb, name in _ENVIRONMENT.findall(text):
        assert verb == "begin" or opened.pop() == name, text
        opened += [name] * (verb == "begin")
    assert (depth, opened) == (0, []), text
    tables = []
    for table in re.findall(r"\\begin\{table\}\n(.*?)\\end\{table\}", text, re.DOTALL):
        found = re.fullmatch(
            r"\\centering\n\\caption\{(.*)\}\n\\label\{tab:[A-Za-z0-9-]+\}\n\\begin\{tabular\}\{([lr]+)\}\n"
            r"\\toprule\n(.*)\n\\midrule\n((?:.*\n)*)\\bottomrule\n\\end\{tabular\}\n",
            table,
        )
        assert found, table
        caption, columns, heads, body = found.groups()
        rows = [_cells(row) for row in (heads, *body.splitlines())]
        assert {len(row) for row in rows} == {len(columns)}, table
        tables.append(LatexTable(_plain(caption), rows[0], rows[1:]))
    return tables


def _cells(row: str) -> list[str]:
    assert row.endswith(r" \\"), row
    assert row[0] not in "[*", "an option of the line break before"
    return [_plain(cell) for cell in re.split(r"(?<!\\) & ", row.removesuffix(r" \\"))]


def _plain(text: str) -> str:
    """Return a text without escapes; what is left would be a command."""
    text = re.sub(r"\$(.*?)(?<!\\)\$", lambda math: math[1].replace(r"\infty", "inf"), text)
    assert not re.search(r"[\\{}&%$#_^~<>|]", _ESCAPED.sub("", text)), text
    return _ESCAPED.sub(lambda found: _SHOWN[found[0]], text)
