import type { Parameter, Texts } from "../contract";
import { isInteger, isNumber } from "../sql";

// A parameter with more values is a text field that suggests them.
const MOST_CHOICES = 100;

interface Props {
  id: string;
  parameters: Parameter[];
  given: Texts;
  onChange: (given: Texts) => void;
}

/** The parameters of a query. Only values that differ from the defaults are given. */
export function ParameterForm({ id, parameters, given, onChange }: Props) {
  if (parameters.length === 0) return null;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const texts = parameters.map((parameter) => {
      const sent = fields.getAll(parameter.name);
      return [parameter, parameter.type === "BOOLEAN" ? String(sent.length > 0) : sent.join(",")] as const;
    });
    const changed = texts.filter(([parameter, text]) => text !== "" && text !== (parameter.default ?? ""));
    onChange(Object.fromEntries(changed.map(([parameter, text]) => [parameter.name, text])));
  };
  return (
    <form onSubmit={submit} key={JSON.stringify(given)}>
      {parameters.map((parameter) => (
        <Field key={parameter.name} id={`${id}-${parameter.name}`} parameter={parameter} value={given[parameter.name] ?? parameter.default ?? ""} />
      ))}
      <button>Run</button>
    </form>
  );
}

function Field({ id, parameter, value }: { id: string; parameter: Parameter; value: string }) {
  const { name, type, meaning, choices, at_least, at_most } = parameter;
  const shared = { id, name, "aria-describedby": `${id}-meaning` };
  const range = at_least === null ? "" : `, ${at_least} to ${at_most}`;
  const label = <label for={id}>{name}</label>;
  const about = (
    <span class="small" id={`${id}-meaning`}>
      {meaning}
      {range} (default: {parameter.default ?? "none"})
    </span>
  );
  if (type === "BOOLEAN") {
    return (
      <div class="field">
        <input {...shared} type="checkbox" role="switch" defaultChecked={value === "true"} /> {label} {about}
      </div>
    );
  }
  if (parameter.is_list && choices.length > 0) {
    const marked = value.split(",").map((text) => text.trim());
    return (
      <fieldset class="field" aria-describedby={`${id}-meaning`}>
        <legend>{name}</legend>
        <span class="choices">
          {choices.map((choice) => (
            <label key={choice}>
              <input type="checkbox" name={name} value={choice} defaultChecked={marked.includes(choice)} /> {choice}
            </label>
          ))}
        </span>
        {about}
      </fieldset>
    );
  }
  return (
    <div class="field">
      {label}
      <Input shared={shared} parameter={parameter} value={value} choices={choices.length ? [...new Set([...choices, parameter.default ?? "", value])] : []} type={type} />
      {about}
    </div>
  );
}

interface InputProps {
  shared: { id: string; name: string };
  parameter: Parameter;
  value: string;
  choices: string[];
  type: string;
}

function Input({ shared, parameter, value, choices, type }: InputProps) {
  if (choices.length > 0 && choices.length <= MOST_CHOICES) {
    return (
      <select {...shared}>
        {choices.map((choice) => (
          <option key={choice} value={choice} selected={choice === value}>
            {choice || "–"}
          </option>
        ))}
      </select>
    );
  }
  const kind = isNumber(type) ? "number" : type === "DATE" ? "date" : "text";
  const limits = kind === "number" ? { min: parameter.at_least ?? undefined, max: parameter.at_most ?? undefined, step: isInteger(type) ? "1" : "any" } : {};
  return (
    <>
      <input {...shared} {...limits} type={kind} defaultValue={value} list={choices.length ? `${shared.id}-values` : undefined} />
      {choices.length > 0 && (
        <datalist id={`${shared.id}-values`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </>
  );
}
