"""How the page looks: light and dark as the reader's system has it, and always light on paper."""

STYLE = """
:root { color-scheme: light; --page: #f9f9f7; --card: #ffffff; --ink: #16150f; --soft: #5c5b55;
  --line: #e3e2dc; --bytes: #2a78d6; --burst: #d95926; --insert: #2a78d6; --update: #d99a00;
  --delete: #c93a3a; --note: #fdf4dc; --edge: #d99a00; --track: #efeee9; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --page: #111110; --card: #1b1b19;
  --ink: #f3f2ec; --soft: #b0aea5; --line: #33322e; --bytes: #3987e5; --burst: #e2703f; --insert: #3987e5;
  --update: #c98500; --delete: #e66767; --note: #2a2415; --edge: #c98500; --track: #292825; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 24px 40px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px;
  margin: 20px 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-weight: 600; }
.tile span { color: var(--soft); font-size: 13px; }
section { padding: 16px 18px; margin: 0 0 16px; overflow-x: auto; }
section.warnings { background: var(--note); border-color: var(--edge); }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li { margin: 0 0 4px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--line);
  padding: 3px 12px 5px 0; white-space: nowrap; }
td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.name { overflow-wrap: anywhere; min-width: 9em; }
code { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere;
  white-space: pre-wrap; }
.meter { width: 22%; min-width: 110px; }
.meter svg { display: block; width: 100%; height: 12px; margin-top: 5px; }
.legend { display: flex; gap: 16px; font-size: 13px; color: var(--soft); margin: 0 0 8px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.chart { display: block; width: 100%; min-width: 640px; height: auto; margin-bottom: 6px; }
.chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; }
.bytes { fill: var(--bytes); } .burst { fill: var(--burst); background: var(--burst); }
.track { fill: var(--track); }
.insert { fill: var(--insert); background: var(--insert); } .update { fill: var(--update);
  background: var(--update); } .delete { fill: var(--delete); background: var(--delete); }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; }
@media (max-width: 760px) { body { padding: 16px 12px; } }
@media print { @page { margin: 14mm 12mm; } body { max-width: none; padding: 0; font-size: 11px;
    --page: #ffffff; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } table, code { font-size: 10px; }
  h1 { font-size: 20px; } h2 { font-size: 13px; break-after: avoid; } .tile b { font-size: 16px; }
  tr, .tile, .chart { break-inside: avoid; } thead { display: table-header-group; }
  section { overflow: visible; padding: 10px 12px; margin-bottom: 10px; } .chart { min-width: 0; }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 8px; margin: 12px 0; }
  .tile span, .legend, footer { font-size: 10px; } .meter { min-width: 80px; }
  .meter svg { height: 9px; margin-top: 3px; } }
"""
"""Without ``<`` and ``&``, so that it is the same in HTML and in XML."""
