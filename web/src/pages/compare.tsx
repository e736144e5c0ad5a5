import type { PageProps, Texts } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { ParameterForm } from "../parts/form";
import { Problem } from "../parts/problem";
import { useWork } from "../parts/use";
import { toHash } from "../route";

const SIDES = { left: "Query on the left", right: "Query on the right", third: "Third query", fourth: "Fourth query" };
type SideName = keyof typeof SIDES;
// The first two are shown at the start.
const FIRST = ["unified.run_cdf", "unified.wait_cdf", "unified.size_cdf", "unified.traces"];

/** Two to four queries, or one with several sets of parameters, side by side. */
export function ComparePage({ engine, catalog, texts }: PageProps & { texts: Texts }) {
  const found = catalog.objects.filter(({ kind, data }) => kind === "query" && data !== "none");
  const queries = found.map(({ name }) => name);
  const charts = found.filter(({ has_chart }) => has_chart).map(({ name }) => name);
  const schema = texts.left?.split(".")[0];
  const proposed = [...charts.filter((name) => name.split(".")[0] === schema), ...FIRST.filter((name) => queries.includes(name)), ...charts];
  const names = Object.keys(SIDES) as SideName[];
  const shown = names.filter((side, place) => place < 2 || side in texts);
  const next = names.find((side) => !shown.includes(side));
  // A side without a query gets one that is not there yet.
  const chosen = shown.map((side) => texts[side] ?? "");
  for (const place of shown.keys()) chosen[place] ||= proposed.find((name) => !chosen.includes(name)) ?? "";
  const open = (changed: Texts): void => void (location.hash = toHash("compare", "", changed));
  const add = (side: SideName): void => {
    const last = shown.at(-1)!;
    const given = Object.entries(withPrefix(texts, `${last}.`)).map(([key, text]) => [`${side}.${key}`, text]);
    open({ ...texts, [side]: chosen.at(-1)!, ...Object.fromEntries(given) });
  };
  return (
    <>
      <h1>Compare</h1>
      <datalist id="queries">{queries.map((name) => <option key={name} value={name} />)}</datalist>
      <div class="sides">
        {shown.map((side, place) => {
          const name = chosen[place]!;
          const given = withPrefix(texts, `${side}.`);
          const change = (chosen: string, changed: Texts): void => {
            const own = Object.entries(changed).map(([key, text]) => [`${side}.${key}`, text]);
            open({ ...without(texts, side), [side]: chosen, ...Object.fromEntries(own) });
          };
          const remove = place > 1 ? () => open(without(texts, side)) : undefined;
          return <Side key={side + name} engine={engine} catalog={catalog} side={side} name={name} given={given} onChange={change} onRemove={remove} />;
        })}
      </div>
      {next && <p><button type="button" onClick={() => add(next)}>Add the last query once more, for other parameters</button></p>}
    </>
  );
}

interface SideProps extends PageProps {
  side: SideName;
  name: string;
  given: Texts;
  onChange: (name: string, given: Texts) => void;
  onRemove: (() => void) | undefined;
}

function Side({ engine, catalog, side, name, given, onChange, onRemove }: SideProps) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  return (
    <section aria-label={side}>
      <div class="field">
        <label for={`${side}-query`}>{SIDES[side]}</label>
        <input id={`${side}-query`} list="queries" defaultValue={name} onChange={(event) => onChange(event.currentTarget.value, {})} />
      </div>
      {onRemove && <p><button type="button" onClick={onRemove}>Remove</button></p>}
      {error && <Problem text={`${name}: ${error}`} />}
      {!found && !error && <p role="status" class="busy">Loading…</p>}
      {found && (
        <>
          <h2>{found.title}</h2>
          <ParameterForm id={side} parameters={found.parameters} given={given} onChange={(changed) => onChange(name, changed)} />
          <AnswerPanel engine={engine} catalog={catalog} query={{ name, given, statement: "" }} parameters={found.parameters} hasChart={found.has_chart} id={side} />
        </>
      )}
    </section>
  );
}

const without = (texts: Texts, side: string): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([key]) => key !== side && !key.startsWith(`${side}.`)));

function withPrefix(texts: Texts, prefix: string): Texts {
  const own = Object.entries(texts).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, text]) => [key.slice(prefix.length), text]));
}
