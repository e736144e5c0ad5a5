import type { Shared } from "../app";
import type { Texts } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { ParameterForm } from "../parts/form";
import { useWork } from "../parts/use";
import { toHash } from "../route";

const SIDES = ["left", "right"] as const;
const FIRST = "unified.run_cdf";

/** Two queries, or one with two sets of parameters, side by side. */
export function ComparePage({ engine, catalog, texts }: Shared & { texts: Texts }) {
  const queries = catalog.objects.filter(({ kind }) => kind === "query").map(({ name }) => name);
  const first = queries.includes(FIRST) ? FIRST : (queries[0] ?? "");
  return (
    <>
      <h1>Compare</h1>
      <datalist id="queries">{queries.map((name) => <option key={name} value={name} />)}</datalist>
      <div class="sides">
        {SIDES.map((side) => {
          const name = texts[side] ?? first;
          const given = withPrefix(texts, `${side}.`);
          const change = (chosen: string, changed: Texts): void => {
            const others = Object.entries(texts).filter(([key]) => key !== side && !key.startsWith(`${side}.`));
            const own = Object.entries(changed).map(([key, text]) => [`${side}.${key}`, text]);
            location.hash = toHash("compare", "", Object.fromEntries([...others, [side, chosen], ...own]));
          };
          return <Side key={side + name} engine={engine} catalog={catalog} side={side} name={name} given={given} onChange={change} />;
        })}
      </div>
    </>
  );
}

interface SideProps extends Shared {
  side: string;
  name: string;
  given: Texts;
  onChange: (name: string, given: Texts) => void;
}

function Side({ engine, catalog, side, name, given, onChange }: SideProps) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  return (
    <section aria-label={side}>
      <div class="field">
        <label for={`${side}-query`}>Query on the {side}</label>
        <input id={`${side}-query`} list="queries" defaultValue={name} onChange={(event) => onChange(event.currentTarget.value, {})} />
      </div>
      {error && <p class="error" role="alert">{name}: {error}</p>}
      {found && (
        <>
          <h2>{found.title}</h2>
          <ParameterForm id={side} parameters={found.parameters} given={given} onChange={(changed) => onChange(name, changed)} />
          <AnswerPanel engine={engine} catalog={catalog} query={{ name, given, statement: "" }} parameters={found.parameters} hasChart={found.has_chart} />
        </>
      )}
    </section>
  );
}

function withPrefix(texts: Texts, prefix: string): Texts {
  const own = Object.entries(texts).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, text]) => [key.slice(prefix.length), text]));
}
