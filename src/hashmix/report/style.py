"""What pages look like, on light and on dark screens and on paper."""

from __future__ import annotations

__all__ = ["INK", "MARKS", "PAPER", "STYLE", "THEME"]

#: Text and background of figures: these exact colours become those of the reader's theme.
INK, PAPER = "#1d2433", "#fefefe"

#: The sign of every grade of a verdict: nobody has to tell colours apart.
MARKS = {"good": "✓", "caution": "!", "bad": "✗"}

#: The colours of a theme, as CSS variables.
THEME = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #ffffff; --faint: #5b6475; --line: #dfe3ea; --accent: #2a5d9f;
  --good: #1f7a3a; --good-back: #eaf6ed; --caution: #8a5a00; --caution-back: #fdf4de; --bad: #b3261e; --bad-back: #fcebe9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ef; --paper: #151a22; --faint: #a3adbd; --line: #343c4a; --accent: #8ab4f0;
    --good: #7bd397; --good-back: #16291d; --caution: #efc162; --caution-back: #2e2612; --bad: #ff9d94; --bad-back: #351a1a; }
}
"""

STYLE = (
    THEME
    + """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 72rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; max-width: 48rem; } .faint { color: var(--faint); font-size: .92rem; }
.verdict { border-left: 4px solid var(--accent); padding: .7rem 1rem; margin: 1rem 0; font-size: 1.08rem; max-width: none; }
.verdict.good { color: var(--good); border-color: var(--good); background: var(--good-back); }
.verdict.caution { color: var(--caution); border-color: var(--caution); background: var(--caution-back); }
.verdict.bad { color: var(--bad); border-color: var(--bad); background: var(--bad-back); }
.numbers { display: flex; flex-wrap: wrap; gap: .6rem 2rem; margin: 1rem 0; }
.numbers div { min-width: 7rem; max-width: 15rem; } .numbers b { display: block; font-size: 1.5rem; line-height: 1.2; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
@media (min-width: 60rem) { .figures .tall { grid-row: span 2; } }
figure { margin: 0; } figure img { max-width: 100%; height: auto; } figcaption { color: var(--faint); font-size: .92rem; }
.scroll { overflow-x: auto; } .scroll:focus { outline: 2px solid var(--accent); }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; }
th:first-child, td:first-child, .text { text-align: left; }
td.text { white-space: normal; overflow-wrap: anywhere; width: 100%; }
th { color: var(--faint); font-weight: 600; }
table.clusters { table-layout: fixed; width: 100%; }
.clusters th:first-child { width: 4.6rem; } .clusters th.rows { width: 5rem; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
.said { margin-right: 1.1rem; }
@media (max-width: 40rem) {
  .said { margin-right: 0; } .said + .said::before { content: "· "; } .said .faint { display: none; } }
td summary { color: inherit; } td summary::marker { color: var(--accent); } td table { font-size: 1em; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
summary { cursor: pointer; color: var(--accent); }
main > details { margin: .6rem 0; } main > details > summary { padding: .2rem 0; }
summary:focus-visible { outline: 2px solid var(--accent); }
@media print { body { max-width: none; font-size: 11pt; } figure, tr { break-inside: avoid; } }
"""
)
