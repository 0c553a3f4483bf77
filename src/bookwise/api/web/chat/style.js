// The style of the chat. Colours, font and radius come from --bw-* properties, which a page can set.

const LIGHT = `--bw-accent: #1f4fbf; --bw-on-accent: #fff; --bw-bg: #fff; --bw-text: #1b2130; --bw-soft: #566072; --bw-shade: #f4f6f9;
  --bw-border: #dde2ea; --bw-mark: #fff0b3; --bw-mark-line: #fff8dc; --bw-mark-edge: #dfb92f; --bw-good: #17693b; --bw-fair: #825200; --bw-bad: #a42c1c; --bw-bad-bg: #fdf1ef;
  --bw-code-k: #8a1f9c; --bw-code-s: #1a6b34; --bw-code-n: #1f4fbf; --bw-code-m: #97450a; --bw-code-c: #5d6675; --bw-code-o: #0a6478; --bw-shadow: 0 8px 30px #1b213026;`;
const DARK = `--bw-accent: #9dbcff; --bw-on-accent: #10182a; --bw-bg: #14181f; --bw-text: #e6e9ef; --bw-soft: #a4aebd; --bw-shade: #1d232d;
  --bw-border: #343d4b; --bw-mark: #574c17; --bw-mark-line: #2b2a1e; --bw-mark-edge: #b3952c; --bw-good: #74d6a0; --bw-fair: #eabf6a; --bw-bad: #ffa596; --bw-bad-bg: #33201f;
  --bw-code-k: #dfa8ef; --bw-code-s: #93d9a6; --bw-code-n: #9dbcff; --bw-code-m: #f0b483; --bw-code-c: #98a3b3; --bw-code-o: #86d3e3; --bw-shadow: 0 8px 30px #0009;`;

/** Rules for text that the service rendered; the lesson page uses them too. */
const TEXT = `
.bw-text { overflow-wrap: break-word; min-width: 0; }
.bw-text > :first-child { margin-top: 0; }
.bw-text :is(p, ul, ol, blockquote) { margin: 0 0 .75em; }
.bw-text li > :is(ul, ol) { margin: .25em 0 0; }
.bw-text :is(ul, ol) { padding-left: 1.5em; }
.bw-text li { margin: .25em 0; }
.bw-text :is(h2, h3, h4, h5, h6) { margin: 1.4em 0 .5em; font-size: 1.05em; line-height: 1.3; }
.bw-text h2 { font-size: 1.35em; }
.bw-text h3 { font-size: 1.15em; }
.bw-text blockquote { padding: .1em 0 .1em 1em; border-left: 3px solid var(--bw-border); color: var(--bw-soft); }
.bw-text a { color: var(--bw-accent); text-underline-offset: .15em; }
.bw-text hr { border: 0; border-top: 1px solid var(--bw-border); }
.bw-text code { font: .9em/1.5 ui-monospace, "SF Mono", Consolas, monospace; }
.bw-text :not(pre) > code { padding: .1em .3em; border-radius: .3em; background: var(--bw-shade); }
.bw-text mark { padding: .1em 0; border-radius: .15em; background: var(--bw-mark); color: inherit; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.bw-text mark > code, .bw-text :not(pre) > code > mark { background: var(--bw-mark); }
.bw-code { margin: 0 0 .9em; border: 1px solid var(--bw-border); border-radius: var(--bw-radius); background: var(--bw-shade); overflow: hidden; }
.bw-code-head { display: flex; align-items: center; justify-content: space-between; padding: .1em .3em .1em .9em; font-size: .78em; color: var(--bw-soft); }
.bw-code pre { margin: 0; padding: .1em 0 .8em; overflow-x: auto; }
.bw-code code { display: block; width: max-content; min-width: 100%; padding: 0 .9em; }
.bw-code mark { display: block; margin: 0 -.9em; padding: 0 .9em 0 calc(.9em - 3px); border-left: 3px solid var(--bw-mark-edge); border-radius: 0; background: var(--bw-mark-line); }
.bw-code .k { color: var(--bw-code-k); } .bw-code .s { color: var(--bw-code-s); } .bw-code .n { color: var(--bw-code-n); }
.bw-code .m { color: var(--bw-code-m); } .bw-code .c { color: var(--bw-code-c); } .bw-code .o { color: var(--bw-code-o); }
.bw-table { margin: 0 0 .9em; overflow-x: auto; border: 1px solid var(--bw-border); border-radius: var(--bw-radius); }
.bw-table table { border-collapse: collapse; width: 100%; font-size: .93em; overflow-wrap: normal; }
.bw-table :is(th, td) { padding: .45em .8em; border-bottom: 1px solid var(--bw-border); text-align: left; vertical-align: top; }
.bw-table tr:last-child td { border-bottom: 0; }
.bw-table th { background: var(--bw-shade); white-space: nowrap; }
.bw-table .bw-right { text-align: right; } .bw-table .bw-center { text-align: center; }
.bw-maths { display: flex; align-items: center; overflow-x: auto; margin: 0 0 .75em; }
.bw-maths math { flex: 1 0 auto; } .bw-equation { padding-left: 1em; color: var(--bw-soft); }
.bw-text sup { line-height: 0; font-size: inherit; vertical-align: baseline; }
`;

export const STYLE = `
.bw { ${LIGHT} --bw-font: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; --bw-radius: 10px; color-scheme: light;
  position: relative; display: flex; flex-direction: column; height: 100%; min-height: 0; overflow: hidden; background: var(--bw-bg); color: var(--bw-text);
  font: 16px/1.6 var(--bw-font); text-align: start; letter-spacing: normal; word-spacing: normal; text-transform: none; -webkit-text-size-adjust: 100%; }
@media (prefers-color-scheme: dark) { .bw:not([data-theme="light"]) { ${DARK} color-scheme: dark; } }
.bw[data-theme="dark"] { ${DARK} color-scheme: dark; }
.bw, .bw * { box-sizing: border-box; }
.bw [hidden] { display: none !important; }
.bw :where(button, select, input, textarea) { font: inherit; color: inherit; letter-spacing: inherit; }
.bw :focus-visible { outline: 2px solid var(--bw-accent); outline-offset: 2px; }
.bw :where(h1, h2, h3, p, ul, ol, fieldset) { margin: 0; }
.bw :where(.bw-sources, .bw-starters, .bw-next ul, .bw-threads ul) { list-style: none; padding: 0; }
.bw-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.bw-icon { width: 1.15em; height: 1.15em; flex: none; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }

.bw-button { display: inline-flex; align-items: center; justify-content: center; gap: .4em; min-height: 2.25em; padding: .25em .75em; border: 1px solid var(--bw-border);
  border-radius: var(--bw-radius); background: var(--bw-bg); color: var(--bw-text); text-decoration: none; cursor: pointer; }
.bw-button:hover { border-color: var(--bw-accent); }
.bw-quiet { min-width: 2.25em; padding: .25em .5em; border-color: transparent; background: none; color: var(--bw-soft); }
.bw-quiet:hover, .bw-quiet[aria-pressed="true"] { border-color: transparent; background: var(--bw-shade); color: var(--bw-text); }
.bw-quiet[aria-pressed="true"] { color: var(--bw-accent); }
.bw-quiet.bw-done { color: var(--bw-good); }
.bw-primary { border-color: var(--bw-accent); background: var(--bw-accent); color: var(--bw-on-accent); }
.bw-primary[aria-disabled="true"] { opacity: .5; cursor: not-allowed; }
.bw-link { display: inline; min-height: 0; padding: 0; border: 0; background: none; color: var(--bw-accent); text-decoration: underline; text-underline-offset: .15em; }
.bw-chip { min-width: 1.55em; min-height: 1.55em; margin: 0 .12em; padding: 0 .35em; border: 0; border-radius: .5em; background: var(--bw-shade); color: var(--bw-accent);
  font-size: .78em; font-weight: 600; line-height: 1.5; vertical-align: .1em; }
.bw-chip:hover, .bw-chip[aria-expanded="true"] { background: var(--bw-accent); color: var(--bw-on-accent); }
.bw-card { display: flex; flex-direction: column; gap: .1em; width: 100%; padding: .65em .9em; border: 1px solid var(--bw-border); border-radius: var(--bw-radius);
  background: var(--bw-bg); text-align: start; cursor: pointer; }
.bw-card:hover { border-color: var(--bw-accent); }
.bw-card span { color: var(--bw-soft); font-size: .92em; }
.bw-card strong { font-weight: 600; font-size: .95em; }
.bw-pill { display: inline-flex; align-items: center; gap: .4em; max-width: 14em; min-height: 2em; padding: .15em .7em; border: 1px solid var(--bw-border); border-radius: 2em; background: var(--bw-bg); font-size: .875em; }
.bw-pill.bw-active, .bw-pill:has(input:checked) { border-color: var(--bw-accent); color: var(--bw-accent); font-weight: 600; }
.bw-pill input { margin: 0; accent-color: var(--bw-accent); }
.bw :is(.bw-pill, .bw-picker) { field-sizing: content; text-overflow: ellipsis; }
.bw-send .bw-icon.bw-solid { fill: currentColor; }

.bw-head { display: flex; align-items: center; gap: .5em; flex: none; padding: .6em 1em; border-bottom: 1px solid var(--bw-border); }
.bw-heading { flex: 1; min-width: 0; }
.bw-title { overflow: hidden; font-size: 1.05em; font-weight: 650; line-height: 1.4; text-overflow: ellipsis; white-space: nowrap; }
.bw-picker { max-width: 100%; padding: .25em .2em; border: 1px solid transparent; border-radius: var(--bw-radius); background: var(--bw-bg); font-weight: 650; cursor: pointer; }
.bw-picker:hover { border-color: var(--bw-border); }

.bw-columns { display: flex; flex: 1; min-height: 0; position: relative; }
.bw-center { display: flex; flex: 1; flex-direction: column; min-width: 0; }
.bw-log { flex: 1; overflow-y: auto; padding: 1.5em 1.25em .5em; scroll-behavior: auto; position: relative; }
.bw-log:focus-visible { outline-offset: -2px; }
.bw-log > * { max-width: 46em; margin-inline: auto; }

.bw-empty { display: flex; flex-direction: column; gap: .9em; padding-top: min(12vh, 6em); }
.bw-empty h2 { font-size: 1.7em; font-weight: 700; line-height: 1.25; letter-spacing: -.01em; }
.bw-empty p { color: var(--bw-soft); }
.bw-starters { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17em), 1fr)); gap: .6em; margin-top: .6em; }
.bw-starters li, .bw-next li { display: flex; }
.bw-text .bw-choices { display: grid; gap: .5em; padding: 0; list-style: none; }

.bw-exchange { padding-bottom: 2em; }
.bw-exchange:last-child { min-height: 100%; }
.bw-question { margin: 0 0 .8em; font-size: 1.25em; font-weight: 650; line-height: 1.35; white-space: pre-wrap; overflow-wrap: anywhere; }
.bw-progress { color: var(--bw-soft); }
.bw-progress::before { content: ""; display: inline-block; width: .55em; height: .55em; margin-right: .6em; border-radius: 50%; background: var(--bw-accent); animation: bw-pulse 1.2s ease-in-out .3s infinite; }
@keyframes bw-pulse { 50% { opacity: .2; } }
.bw-refused .bw-text, .bw-blocked .bw-text { padding: .9em 1.1em; border: 1px solid var(--bw-border); border-radius: var(--bw-radius); background: var(--bw-shade); }
.bw-refused .bw-text > :last-child, .bw-blocked .bw-text > :last-child { margin-bottom: 0; }
.bw-footer { display: flex; flex-direction: column; gap: .8em; margin-top: .9em; }
.bw-note { color: var(--bw-soft); font-size: .92em; }
.bw-answer > .bw-note { margin-bottom: .6em; }
.bw-note .bw-button, .bw-problem .bw-button { margin-top: .5em; }
.bw-problem { color: var(--bw-bad); }
div.bw-problem { padding: .8em 1em; border: 1px solid var(--bw-bad); border-radius: var(--bw-radius); background: var(--bw-bad-bg); }
.bw-sources { display: flex; flex-wrap: wrap; gap: .45em; }
.bw-sources li { min-width: 0; max-width: 100%; }
.bw-source { display: inline-flex; align-items: center; gap: .5em; max-width: 100%; min-height: 2.1em; padding: .2em .8em .2em .35em; border: 1px solid var(--bw-border); border-radius: 2em; background: var(--bw-bg); font-size: .88em; text-align: start; cursor: pointer; }
.bw-source:hover, .bw-source[aria-expanded="true"] { border-color: var(--bw-accent); }
.bw-source span:last-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bw-number { display: inline-flex; align-items: center; justify-content: center; flex: none; width: 1.6em; height: 1.6em; border-radius: 50%; background: var(--bw-shade); color: var(--bw-accent); font-weight: 650; font-size: .92em; }
.bw-actions { display: flex; flex-wrap: wrap; align-items: flex-start; justify-content: space-between; gap: .3em 1em; font-size: .9em; }
.bw-level { flex: 1 1 14em; }
.bw-level summary { display: inline-flex; align-items: center; gap: .5em; min-height: 2.25em; border-radius: .4em; font-weight: 600; cursor: pointer; list-style: none; }
.bw-level summary::-webkit-details-marker { display: none; }
.bw-level summary::before { content: ""; width: .6em; height: .6em; border-radius: 50%; background: currentColor; }
.bw-level summary::after { content: "?"; display: inline-flex; align-items: center; justify-content: center; width: 1.35em; height: 1.35em; border: 1px solid var(--bw-border); border-radius: 50%; color: var(--bw-soft); font-size: .8em; font-weight: 400; }
.bw-level p { color: var(--bw-soft); }
.bw-high summary, .bw-medium summary { color: var(--bw-good); } .bw-low summary { color: var(--bw-fair); } .bw-insufficient summary { color: var(--bw-soft); }
.bw-tools { display: flex; flex-wrap: wrap; gap: .1em; margin-left: auto; }
.bw-feedback { flex-basis: 100%; }
.bw-feedback:empty { display: none; }
.bw-reasons { display: flex; flex-direction: column; align-items: flex-start; gap: .6em; margin-top: .3em; padding: .9em; border: 1px solid var(--bw-border); border-radius: var(--bw-radius); }
.bw-reasons fieldset { display: flex; flex-wrap: wrap; gap: .4em; padding: 0; border: 0; }
.bw-reasons legend { padding: 0 0 .4em; font-weight: 600; }
.bw :where(textarea, input:not([type="radio"])) { width: 100%; min-width: 0; padding: .5em .7em; border: 1px solid var(--bw-border); border-radius: var(--bw-radius); background: var(--bw-bg); }
.bw-next h3 { margin: .5em 0; font-size: .9em; color: var(--bw-soft); font-weight: 600; }
.bw-next ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 14em), 1fr)); gap: .5em; }

.bw-composer { flex: none; width: 100%; max-width: 48.500em; margin: 0 auto; padding: .5em 1.25em max(1em, env(safe-area-inset-bottom)); }
.bw-filters { display: flex; gap: .4em; margin-bottom: .5em; overflow-x: auto; scrollbar-width: none; padding: 2px; }
.bw-filters select { flex: none; }
.bw-box { display: flex; align-items: flex-end; gap: .4em; padding: .35em; border: 1px solid var(--bw-border); border-radius: calc(var(--bw-radius) * 1.4); background: var(--bw-bg); }
.bw-box:focus-within { border-color: var(--bw-accent); box-shadow: 0 0 0 1px var(--bw-accent); }
.bw .bw-box :is(textarea, input) { flex: 1; padding: .4em .6em; border: 0; outline: 0; background: none; resize: none; overflow-y: auto; field-sizing: content; max-height: 200px; }
.bw-send { width: 2.500em; height: 2.500em; padding: 0; }
.bw-counter { padding: .3em .5em 0; font-size: .85em; color: var(--bw-soft); }
.bw-counter.bw-problem { color: var(--bw-bad); }
.bw-key { display: flex; flex-direction: column; gap: .7em; padding: 1em 0; }

.bw-threads { flex: none; width: 16em; padding: 1em .6em; overflow-y: auto; border-right: 1px solid var(--bw-border); background: var(--bw-bg); font-size: .92em; }
.bw-threads li { position: relative; display: flex; align-items: center; border-radius: var(--bw-radius); padding: 0 .2em 0 0; }
.bw-threads li.bw-note { padding: .5em .7em; }
.bw-threads li.bw-current, .bw-threads li:hover:not(.bw-note) { background: var(--bw-shade); }
.bw-thread { flex: 1; min-width: 0; min-height: 2.500em; padding: .3em .7em; border: 0; border-radius: var(--bw-radius); background: none; overflow: hidden; text-align: start; text-overflow: ellipsis; white-space: nowrap; cursor: pointer; }
.bw-current .bw-thread { font-weight: 600; }
.bw-threads .bw-quiet { min-width: 2em; min-height: 2em; padding: .2em; opacity: 0; position: absolute; right: .3em; background: var(--bw-shade); }
.bw-threads li .bw-quiet:nth-last-child(2) { right: 2.4em; }
.bw-threads form .bw-quiet { position: static; width: auto; }
.bw-threads li:is(:hover, :focus-within) .bw-quiet, .bw-threads form .bw-quiet { opacity: 1; }
.bw-threads form { display: flex; flex-wrap: wrap; gap: .3em; width: 100%; padding: .4em; }
.bw-threads form > p { flex-basis: 100%; }

.bw-panel { display: flex; flex: none; flex-direction: column; width: min(27em, 40%); border-left: 1px solid var(--bw-border); background: var(--bw-bg); }
.bw-panel > header { display: flex; align-items: flex-start; gap: .5em; padding: .8em .6em .2em 1.2em; }
.bw-panel-title { flex: 1; padding-top: .3em; font-size: 1em; font-weight: 650; line-height: 1.4; outline: 0; }
.bw-panel-body { flex: 1; overflow-y: auto; padding: .2em 1.2em 1em; font-size: .95em; }
.bw-panel .bw-text > :is(h3, h4, h5, h6):first-child { display: none; }
.bw-path { margin-bottom: .8em; font-size: .88em; color: var(--bw-soft); }
.bw-panel-links { display: flex; flex-wrap: wrap; gap: .5em; padding: .7em 1.2em max(1em, env(safe-area-inset-bottom)); border-top: 1px solid var(--bw-border); }
.bw-panel-links:empty { display: none; }
.bw-panel-links .bw-button { font-size: .92em; }

.bw-menu { display: none; }
@media (max-width: 62em) { ${narrow(".bw:not(.bw-compact)")} }
${narrow(".bw-compact")}
.bw-compact .bw-head { padding-left: 1em; }
.bw-compact .bw-log { padding: 1em 1em .3em; }
.bw-compact .bw-composer { padding-inline: .8em; }
.bw-compact .bw-empty { padding-top: 1em; }
.bw-compact .bw-empty h2 { font-size: 1.3em; }
.bw-compact .bw-fresh { padding-inline: .5em; border-color: transparent; }
@media (max-width: 40em) {
  .bw-head { padding: .5em .6em; }
  .bw-log { padding: 1.1em 1em .3em; }
  .bw-composer { padding-inline: .75em; }
  .bw-empty h2 { font-size: 1.4em; }
  .bw-question { font-size: 1.12em; }
  ${ownRow(".bw")}
}
${ownRow(".bw-compact")}
@media (prefers-reduced-motion: reduce) { .bw *, .bw *::before { animation: none !important; transition: none !important; } }
${TEXT}
`;

/** What the confidence means has a row of its own, and the buttons follow below it. */
function ownRow(chat) {
  return `${chat} .bw-level { flex-basis: 100%; } ${chat} .bw-tools { margin-left: -.5em; }`;
}

/** Rules for a chat without room for three columns: the list covers the chat from the left, a passage comes from below. The widget is always narrow. */
function narrow(chat) {
  return `
  ${chat} .bw-menu { display: inline-flex; }
  ${chat} .bw-threads { display: none; }
  ${chat}.bw-with-threads .bw-threads { display: block; position: absolute; inset: 0 auto 0 0; z-index: 2; width: min(20em, 86%); box-shadow: var(--bw-shadow); }
  ${chat}.bw-with-threads .bw-columns::after { content: ""; position: absolute; inset: 0; z-index: 1; background: #0006; }
  ${chat} .bw-threads .bw-quiet { position: static; opacity: 1; background: none; }
  ${chat} .bw-panel { position: absolute; inset: auto 0 0 0; z-index: 3; width: 100%; max-height: 75%; border: 1px solid var(--bw-border); border-width: 1px 0 0; border-radius: calc(var(--bw-radius) * 1.6) calc(var(--bw-radius) * 1.6) 0 0; box-shadow: var(--bw-shadow); animation: bw-rise .16s ease-out; }
  @keyframes bw-rise { from { transform: translateY(1.500em); opacity: 0; } }`;
}
