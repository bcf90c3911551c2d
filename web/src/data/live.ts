// One stream of changes for the whole page. The server says which sweeps and runs changed; whoever
// shows them reads them again.

export interface Change {
  sweeps: ReadonlySet<string>;
  runs: ReadonlySet<string>;
  everything: boolean; // after a lost connection: anything may have changed
}

export type LiveState = "connecting" | "live" | "lost";

type ChangeListener = (change: Change) => void;
type StateListener = (state: LiveState) => void;

// What of EventSource is used, so that a test can stand in for it.
export interface Stream {
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(type: string, listener: (event: MessageEvent) => void): void;
  close(): void;
}

export class Live {
  private readonly changeListeners = new Set<ChangeListener>();
  private readonly stateListeners = new Set<StateListener>();
  private current: LiveState = "connecting";
  private opened = 0;

  constructor(stream: Stream) {
    stream.onopen = () => {
      this.opened += 1;
      this.setState("live");
      if (this.opened > 1) this.emit({ sweeps: new Set(), runs: new Set(), everything: true });
    };
    // EventSource connects again by itself.
    stream.onerror = () => this.setState("lost");
    stream.addEventListener("change", (event) => {
      const data = JSON.parse(event.data as string) as { sweeps: string[]; runs: string[] };
      this.emit({ sweeps: new Set(data.sweeps), runs: new Set(data.runs), everything: false });
    });
  }

  get state(): LiveState {
    return this.current;
  }

  onChange(listener: ChangeListener): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  onState(listener: StateListener): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  private emit(change: Change) {
    for (const listener of this.changeListeners) listener(change);
  }

  private setState(state: LiveState) {
    this.current = state;
    for (const listener of this.stateListeners) listener(state);
  }
}
