import { useEffect, useState } from "preact/hooks";

export interface Loading<T> {
  value?: T;
  error?: string;
}

/** The result of some work, which runs again when a dependency changes; the earlier run is cancelled. */
export function useWork<T>(work: (signal: AbortSignal) => Promise<T>, dependencies: unknown[]): Loading<T> {
  const [state, setState] = useState<Loading<T>>({});
  useEffect(() => {
    const controller = new AbortController();
    setState({});
    work(controller.signal).then(
      (value) => controller.signal.aborted || setState({ value }),
      (error: Error) => controller.signal.aborted || setState({ error: error.message }),
    );
    return () => controller.abort();
  }, dependencies);
  return state;
}
