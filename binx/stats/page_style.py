"""The style sheet of the HTML page."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light; --page: #f9f9f7; --card: #ffffff; --ink: #16150f; --soft: #5c5b55;
  --line: #e3e2dc; --bytes: #2a78d6; --burst: #d95926; --note: #fdf4dc; --edge: #d99a00; --track: #efeee9;
  --shade: rgba(0, 0, 0, .18); --band: #fbdccb; --s0: #2a78d6; --s1: #e69f00; --s2: #1a9e77; --s3: #b04fa0;
  --s4: #5fb3e6; --s5: #c8502d; --s6: #7763c8;
  --other: #a9a79f; --in: #2f9e62; --up: #2a78d6; --del: #cf4257; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --page: #111110; --card: #1b1b19;
  --ink: #f3f2ec; --soft: #b0aea5; --line: #33322e; --bytes: #3987e5; --burst: #e2703f; --note: #2a2415;
  --edge: #c98500; --track: #292825; --shade: rgba(0, 0, 0, .6); --band: #4d2c1c; --s0: #3987e5;
  --s1: #d99a1c; --s2: #2bb088; --s3: #c566b5; --s4: #7cc4f0; --s5: #e0693f; --s6: #9383de; --other: #7d7b74;
  --in: #3fb577; --up: #3987e5; --del: #e25c70; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 24px 40px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(180px, 46%), 1fr)); gap: 12px;
  margin: 20px 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile b { display: block; white-space: nowrap; font-size: 20px; line-height: 1.25; font-weight: 600; }
.tile span { color: var(--soft); font-size: 13px; }
section { padding: 16px 18px; margin: 0 0 16px; }
.scroll { overflow-x: auto;
  background: linear-gradient(to right, var(--card) 30%, transparent) left / 40px 100%,
  linear-gradient(to left, var(--card) 30%, transparent) right / 40px 100%,
  linear-gradient(to right, var(--shade), transparent) left / 14px 100%,
  linear-gradient(to left, var(--shade), transparent) right / 14px 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll; }
section.warnings { background: var(--note); border-color: var(--edge); }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li { margin: 0 0 6px; overflow-wrap: anywhere; }
.action { display: block; color: var(--soft); font-size: 14px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--line);
  padding: 3px 12px 5px 0; white-space: nowrap; }
td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.name { overflow-wrap: anywhere; min-width: 9em; } .long { min-width: 20em; }
.meter { width: 22%; min-width: 110px; }
.meter svg { display: block; width: 100%; height: 12px; margin-top: 5px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; color: var(--soft);
  margin: 0 0 14px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.chart { display: block; width: 100%; min-width: 640px; height: auto; margin-bottom: 6px; }
.chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; }
.bytes { fill: var(--bytes); }
.track { fill: var(--track); } .band { fill: var(--band); background: var(--band); }
.s-0 { fill: var(--s0); background: var(--s0); } .s-1 { fill: var(--s1); background: var(--s1); }
.s-2 { fill: var(--s2); background: var(--s2); } .s-3 { fill: var(--s3); background: var(--s3); }
.s-4 { fill: var(--s4); background: var(--s4); } .s-5 { fill: var(--s5); background: var(--s5); }
.s-6 { fill: var(--s6); background: var(--s6); } .s-other { fill: var(--other); background: var(--other); }
.s-inserts { fill: var(--in); background: var(--in); } .s-updates { fill: var(--up); background: var(--up); }
.s-deletes { fill: var(--del); background: var(--del); }
line.ddl { stroke: var(--burst); stroke-width: 1; } .chart text.ddl { fill: var(--burst); }
b.ddl { color: var(--burst); font-weight: 400; }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; }
@media (max-width: 760px) { body { padding: 16px 12px; } }
@media print { @page { margin: 14mm 12mm; } body { max-width: none; padding: 0; font-size: 11px;
    --page: #ffffff; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } table { font-size: 10px; }
  h1 { font-size: 20px; } h2 { font-size: 13px; break-after: avoid; } .tile b { font-size: 16px; }
  tr, .tile, .chart { break-inside: avoid; } thead { display: table-header-group; }
  .scroll { overflow: visible; background: none; }
  section { padding: 10px 12px; margin-bottom: 10px; } .chart { min-width: 0; }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 8px; margin: 12px 0; }
  .tile span, .legend, .action, footer { font-size: 10px; } .meter { min-width: 80px; }
  .long { min-width: 14em; }
  .meter svg { height: 9px; margin-top: 3px; } td, th { padding-right: 8px; } }
"""
"""Without ``<`` and ``&``, so that it is valid in HTML and in XML."""
