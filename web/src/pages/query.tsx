import type { PageProps, Texts } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { ParameterForm } from "../parts/form";
import { Lineage } from "../parts/lineage";
import { useWork } from "../parts/use";
import { toHash } from "../route";

interface Props extends PageProps {
  name: string;
  given: Texts;
}

export function QueryPage({ engine, catalog, name, given }: Props) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  if (error) return <p class="error" role="alert">{name}: {error}</p>;
  if (!found) return <p role="status" class="busy">Loading…</p>;
  const meanings = new Map(found.columns.map(({ column, meaning, unit }) => [column, unit ? `${meaning} (${unit})` : meaning]));
  return (
    <>
      <h1>{found.title}</h1>
      <p class="lead">
        <code>{found.name}</code> {found.facts.answer}
      </p>
      {found.parameters.length > 0 && (
        <ParameterForm id="parameter" parameters={found.parameters} given={given} onChange={(texts) => (location.hash = toHash("query", name, texts))} />
      )}
      <p><a href={toHash("compare", "", compareTexts(name, given))}>Compare with other parameters or another query</a></p>
      {found.left_out ? (
        <p>This site does not have the answer: {found.left_out}.</p>
      ) : (
        <AnswerPanel engine={engine} catalog={catalog} query={{ name, given, statement: "" }} parameters={found.parameters} hasChart={found.has_chart} meanings={meanings} />
      )}
      <h2>Definition</h2>
      <Lineage catalog={catalog} found={found} />
      <details>
        <summary>Columns</summary>
        <dl>
          {found.columns.map(({ column, meaning, unit }) => (
            <div key={column}>
              <dt><code>{column}</code></dt>
              <dd>{meaning}{unit && ` (${unit})`}</dd>
            </div>
          ))}
        </dl>
      </details>
      <details>
        <summary>SQL</summary>
        <pre tabIndex={0}><code>{found.sql}</code></pre>
      </details>
    </>
  );
}

const compareTexts = (name: string, given: Texts): Texts => {
  const texts = Object.entries(given).flatMap(([key, text]) => [[`left.${key}`, text], [`right.${key}`, text]]);
  return { left: name, right: name, ...Object.fromEntries(texts) };
};
