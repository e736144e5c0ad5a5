import { useEffect } from "preact/hooks";
import type { PageProps, Texts } from "../contract";
import { AnswerPanel } from "../parts/answer";
import { ParameterForm } from "../parts/form";
import { Jump } from "../parts/jump";
import { Lineage } from "../parts/lineage";
import { Missing } from "../parts/problem";
import { useWork } from "../parts/use";
import { toHash } from "../route";

interface Props extends PageProps {
  name: string;
  given: Texts;
}

export function QueryPage({ engine, catalog, name, given }: Props) {
  const { value: found, error } = useWork(() => engine.describe(name), [name]);
  // The form is below the answer.
  useEffect(() => scrollTo(0, 0), [JSON.stringify(given)]);
  if (error) return <Missing catalog={catalog} name={name} error={error} />;
  if (!found) return <p role="status" class="busy">Loading…</p>;
  const meanings = new Map(found.columns.map(({ column, meaning, unit }) => [column, unit ? `${meaning} (${unit})` : meaning]));
  const form = found.parameters.length > 0 && (
    <section id="parameters" aria-label="Parameters">
      <h2>Parameters</h2>
      <ParameterForm id="parameter" parameters={found.parameters} given={given} onChange={(texts) => (location.hash = toHash("query", name, texts))} />
    </section>
  );
  return (
    <>
      <h1>{found.title}</h1>
      <p class="choices">
        <code>{found.name}</code>
        {form && <Jump to="parameters">Change parameters</Jump>}
        <a href={toHash("compare", "", leftTexts(name, given))}>Compare with another query</a>
      </p>
      {found.left_out ? (
        <p>This site does not have the answer: {found.left_out}.</p>
      ) : (
        <AnswerPanel engine={engine} catalog={catalog} query={{ name, given, statement: "" }} parameters={found.parameters} hasChart={found.has_chart} meanings={meanings}>
          {form}
        </AnswerPanel>
      )}
      <h2>Definition</h2>
      <p class="lead">{found.facts.answer}</p>
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
      <Lineage catalog={catalog} found={found} />
      <details>
        <summary>SQL</summary>
        <pre tabIndex={0}><code>{found.sql}</code></pre>
      </details>
    </>
  );
}

const leftTexts = (name: string, given: Texts): Texts =>
  ({ left: name, ...Object.fromEntries(Object.entries(given).map(([key, text]) => [`left.${key}`, text])) });
