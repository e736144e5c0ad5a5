import { useMemo, useState } from "preact/hooks";
import type { Drawing, Figure, PageProps, Texts } from "../contract";
import { formatCell, formatCount } from "../format";
import { Chart } from "../parts/chart";
import { Problem } from "../parts/problem";
import { useWork } from "../parts/use";
import { toHash } from "../route";

// Those that say something about the figure come first.
const ORDER = ["differs", "differs, reason unconfirmed", "differs as explained", "reproduced", "not comparable", "synthetic data", "no data", "not measurable"];
const FEW = 50;
const COMPARED = ORDER.slice(0, 4);
const COLOURS = ["#000000", "#CC79A7", "#D55E00", "#0072B2"];

const MOST_DECIMALS = 9;

const formatFigure = (value: number, decimals = MOST_DECIMALS): string => value.toLocaleString("en-US", { maximumFractionDigits: decimals });

/** Our value with one decimal more than the printed one, or as many as show that it differs. */
function formatMeasured({ published, measured, verdict }: Figure): string {
  if (measured === null) return "–";
  let decimals = (String(published).split(".")[1]?.length ?? 0) + 1;
  while (decimals < MOST_DECIMALS && verdict.startsWith("differs") && formatFigure(measured, decimals) === formatFigure(published)) decimals++;
  return formatFigure(measured, Math.min(decimals, MOST_DECIMALS));
}

const traceOf = ({ figure }: Figure): string => figure.split(".")[0]!;

/** Figures that documents print, next to what the warehouse has. */
export function VerifyPage({ engine, texts }: PageProps & { texts: Texts }) {
  const { value: figures, error } = useWork(() => engine.verify(), []);
  return (
    <>
      <h1>Published figures, recomputed</h1>
      <p class="lead">Papers and READMEs print figures about these traces. This page has each figure, where it is printed, and the value that the data here give. A figure that “differs as explained” has a known error or another definition, and we find the value that the explanation leads to.</p>
      {error && <Problem text={error} />}
      {!figures && !error && <p role="status" class="busy">Comparing figures…</p>}
      {figures && <Figures figures={figures} trace={texts.trace ?? ""} />}
    </>
  );
}

function Figures({ figures, trace }: { figures: Figure[]; trace: string }) {
  const [chosen, setChosen] = useState("");
  const [most, setMost] = useState(FEW);
  const traces = [...new Set(figures.map(traceOf))].sort();
  const ofTrace = figures.filter((figure) => !trace || traceOf(figure) === trace);
  const groups = new Map<string, string[]>([["compared", COMPARED], ["all", ORDER], ...ORDER.map((name) => [name, [name]] as [string, string[]])]);
  const select = (group: string): Figure[] => ofTrace.filter((figure) => groups.get(group)?.includes(figure.verdict));
  const choices = [...groups.keys()].filter((group) => select(group).length > 0);
  const group = choices.includes(chosen) ? chosen : (choices[0] ?? "all");
  const shown = select(group).toSorted((left, right) => ORDER.indexOf(left.verdict) - ORDER.indexOf(right.verdict));
  const differences = useMemo(() => drawDifferences(select("compared")), [figures, trace]);
  return (
    <>
      <form onSubmit={(event) => event.preventDefault()}>
        <div class="field">
          <label for="trace">Trace</label>
          <select id="trace" value={trace} onChange={(event) => (location.hash = toHash("verify", "", event.currentTarget.value ? { trace: event.currentTarget.value } : {}))}>
            <option value="">all</option>
            {traces.map((name) => <option key={name}>{name}</option>)}
          </select>
        </div>
        <div class="field">
          <label for="verdict">Verdict</label>
          <select id="verdict" value={group} onChange={(event) => setChosen(event.currentTarget.value)}>
            {choices.map((name) => <option key={name} value={name}>{name} ({formatCell(select(name).length)})</option>)}
          </select>
        </div>
      </form>
      <p role="status">{formatCount(shown.length, "figure")}.{!choices.includes("compared") && " None can be compared: the data are synthetic, or they are not here."}</p>
      {group === "compared" && <Chart key={trace} name="differences from published figures" drawing={differences} isPlain />}
      <div class="wide" role="region" tabIndex={0} aria-label="Published figures">
        <table class="stacked figures">
          <thead>
            <tr>
              {["claim", "printed", "ours", "verdict", "printed in"].map((title) => <th key={title} scope="col" class={/printed$|ours/.test(title) ? "number" : ""}>{title}</th>)}
            </tr>
          </thead>
          <tbody>{shown.slice(0, most).map((figure) => <Row key={figure.figure} figure={figure} />)}</tbody>
        </table>
      </div>
      {shown.length > most && <p><button type="button" onClick={() => setMost(Infinity)}>Show all {shown.length} figures</button></p>}
    </>
  );
}

/** The difference of each figure from the printed one. */
function drawDifferences(figures: Figure[]): Drawing {
  const values = figures.filter(({ published }) => published !== 0).map((figure) => ({
    trace: traceOf(figure),
    claim: figure.statement,
    verdict: figure.verdict,
    difference: 100 * (figure.measured! / figure.published - 1),
  }));
  const verdicts = COMPARED.filter((name) => figures.some(({ verdict }) => verdict === name));
  const build = (width: number, columns: number): object => ({
    data: { values },
    vconcat: [{
      width,
      mark: { type: "point", filled: true, size: 60, opacity: 0.7 },
      encoding: {
        x: { field: "difference", type: "quantitative", title: "ours against printed (%)", scale: { type: "symlog" }, axis: { titleFontWeight: "normal", values: [-100, -10, -1, 0, 1, 10, 100, 1000] } },
        y: { field: "trace", type: "nominal", title: null, axis: { grid: true } },
        color: { field: "verdict", type: "nominal", title: null, scale: { domain: verdicts, range: verdicts.map((name) => COLOURS[COMPARED.indexOf(name)]) }, legend: { orient: "bottom", columns } },
        tooltip: ["claim", "verdict", "difference"].map((field) => ({ field, ...(field === "difference" && { format: ".3~g", title: "difference (%)" }) })),
      },
    }],
  });
  return { spec: build(560, 4), narrow: build(240, 2) };
}

function Row({ figure: found }: { figure: Figure }) {
  const { figure, statement, published, measured, unit, verdict, trust, printed_in, explanation } = found;
  return (
    <tr>
      <td class="long">
        {statement} <code class="small">{figure}</code>
        {explanation && verdict.startsWith("differs") && <p class="small">{explanation}</p>}
      </td>
      <td class="number" data-title="printed">{formatFigure(published)} {unit}</td>
      <td class="number" data-title="ours">{formatMeasured(found)}{measured !== null && ` ${unit}`}</td>
      <td data-title="verdict"><span class={verdict.startsWith("differs") ? "warn" : ""}>{verdict}</span></td>
      <td class="long" data-title="printed in">{printed_in} <span class="small">({trust})</span></td>
    </tr>
  );
}
