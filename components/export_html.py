"""Parts of a self-contained HTML page that prints on A4. Every text is escaped; there is no script and no address
that is loaded."""

from collections.abc import Iterable, Sequence
from datetime import date
from html import escape

from components.export_svg import textures
from components.legend import Item

VERSION = "1.0"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
STYLE = """
@page { size: A4; margin: 16mm }
:root { color-scheme: light }
body { margin: 0 auto; padding: 16px; max-width: 720px; background: #fff; color: #11151c;
  font: 13px/1.5 Inter, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; font-variant-numeric: tabular-nums;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; overflow-wrap: break-word }
@media print { body { padding: 0; max-width: none } }
h1 { font-size: 22px; line-height: 1.25; margin: 4px 0 } h2 { font-size: 14px; margin: 22px 0 6px }
p { margin: 4px 0 } .quiet { color: #5a6270 } svg { display: block; width: 100%; height: auto; fill: #11151c }
.wide { overflow-x: auto } table { width: 100%; border-collapse: collapse; font-size: 12px }
th { font-weight: 400; color: #5a6270; text-align: left } td, th { padding: 4px 10px 4px 4px; vertical-align: top;
  border-bottom: 1px solid #d5d9df } .number { text-align: right } tr, svg, pre, dl { break-inside: avoid }
h2 { break-after: avoid }
pre { background: #f4f5f7; padding: 10px 12px; font-size: 11.5px; white-space: pre-wrap; overflow-wrap: anywhere }
dl { display: flex; gap: 12px; margin: 16px 0 } dl div { flex: 1 } dt { color: #5a6270; font-size: 12px }
dd { margin: 0; font-size: 20px; font-weight: 600 } dd small { display: block; font-size: 12px; font-weight: 400;
  color: #5a6270 } .legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px }
.legend i { display: inline-block; width: 10px; height: 10px; margin-right: 5px; border-radius: 2px }
footer { margin-top: 24px; padding-top: 8px; border-top: 1px solid #d5d9df; font-size: 11px; color: #5a6270;
  overflow-wrap: anywhere } a { color: inherit }
"""


def document(title: str, parts: Iterable[str]) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body>{textures()}<main>{''.join(parts)}</main></body></html>\n"
    )


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def headline(text: str) -> str:
    return f"<h1>{escape(text)}</h1>"


def quiet(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>' if text else ""


def sentences(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def figures(cells: Iterable[tuple[str, str, str]]) -> str:
    """Label, value and condition of each."""
    each = (f"<div><dt>{escape(a)}</dt><dd>{escape(b)}<small>{escape(c)}</small></dd></div>" for a, b, c in cells)
    return f"<dl>{''.join(each)}</dl>"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """`numbers` are the columns that are aligned to the right."""
    head = "".join(_cell('th scope="col"', text, index in numbers) for index, text in enumerate(headers))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, index in numbers) for index, text in enumerate(row))}</tr>" for row in rows
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="Table">{body}</div>'


def _cell(tag: str, text: str, number: bool) -> str:
    classed = ' class="number"' if number else ""
    return f"<{tag}{classed}>{escape(text)}</{tag.partition(' ')[0]}>"


def legend(lead: str, items: Iterable[Item]) -> str:
    swatches = "".join(
        f'<span><i style="background:{escape(item.swatch)}'
        f'{f";outline:1px solid {escape(item.outline)}" if item.outline else ""}"></i>'
        f"{escape(item.name)} <b>{escape(item.value)}</b></span>"
        for item in items
    )
    return f'<p class="legend"><span class="quiet">{escape(lead)}</span>{swatches}</p>'


def footer(link: str, note: str) -> str:
    """The link is one only where it is a web address."""
    text = escape(link)
    shown = f'<a href="{text}">{text}</a>' if link.startswith(("https://", "http://")) else text
    return f"<footer>{shown}<br>{escape(note)} · KV Atlas {VERSION}</footer>"


def dated(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
