import type { Pattern } from './python-pattern.js';

type Assertion = Extract<Pattern, { kind: 'assertion' }>['holds'];

/** Remaining work units for one configuration's patterns. They limit hostile patterns. */
export interface Effort {
  left: number;
}

export class StepLimitError extends Error {}

/** Units for about a second: enough for ten patterns over the modules of the largest mixtures. */
export const usualEffort = (): Effort => ({ left: 6e7 });

const costOfState = 1_000;

/** @throws StepLimitError */
export const spend = (effort: Effort, cost: number): void => {
  effort.left -= cost;
  if (effort.left < 0) throw new StepLimitError();
};

/** A state of the automaton: leads to `next`, and in a branch also to `other`. */
interface State {
  readonly oneOf?: string;
  readonly holds?: Assertion;
  readonly next: number;
  other?: number;
}

const none = -1;

/**
 * Returns a function that tests whether a pattern matches a whole text of printable ASCII. Uses Thompson's
 * automaton, whose time is at most states × text length.
 *
 * @throws StepLimitError, and so does the returned function
 */
export const wholeMatcher = (pattern: Pattern, effort: Effort): ((text: string) => boolean) => {
  const states: State[] = [];
  const add = (state: State): number => {
    spend(effort, costOfState);
    return states.push(state) - 1;
  };
  const end = add({ next: none });
  const first = build(pattern, end, add);

  // Uses typed arrays, because visiting them costs less than an object lookup.
  const next = Int32Array.from(states, (state) => state.next);
  const other = Int32Array.from(states, (state) => state.other ?? none);
  const oneOf = states.map((state) => state.oneOf);
  const holds = states.map((state) => state.holds);
  /** The last step that reached each state. Steps keep counting across texts. */
  const reached = new Uint32Array(states.length);
  const open = new Int32Array(2 * states.length + 1);
  let waiting = new Int32Array(states.length);
  let before = new Int32Array(states.length);
  let count = 0;
  let step = 0;

  /** Adds to `waiting` the states reachable from `state` without a character. */
  const enter = (state: number, text: string, at: number): void => {
    let depth = 1;
    open[0] = state;
    while (depth > 0) {
      depth -= 1;
      const one = open[depth] as number;
      if (reached[one] === step) continue;
      reached[one] = step;
      effort.left -= 1;
      const asserted = holds[one];
      if (one === end || oneOf[one] !== undefined) waiting[count++] = one;
      else if (asserted === undefined || isHeld(asserted, text, at)) {
        open[depth++] = next[one] as number;
        if (other[one] !== none) open[depth++] = other[one] as number;
      }
    }
  };

  return (text) => {
    count = 0;
    step += 1;
    enter(first, text, 0);
    for (let at = 0; at < text.length && count > 0; at += 1) {
      const character = text.charAt(at);
      const last = count;
      [waiting, before] = [before, waiting];
      count = 0;
      step += 1;
      for (let index = 0; index < last; index += 1) {
        const state = before[index] as number;
        if (oneOf[state]?.includes(character)) enter(next[state] as number, text, at + 1);
      }
      spend(effort, 1);
    }
    return count > 0 && reached[end] === step;
  };
};

/** Adds the states of a pattern that continues at `next`; returns its first state. */
const build = (pattern: Pattern, next: number, add: (state: State) => number): number => {
  switch (pattern.kind) {
    case 'character':
      return add({ oneOf: pattern.oneOf, next });
    case 'assertion':
      return add({ holds: pattern.holds, next });
    case 'sequence':
      return pattern.items.reduceRight((after, item) => build(item, after, add), next);
    case 'choice':
      return pattern.options
        .map((option) => build(option, next, add))
        .reduceRight((after, option) => add({ next: option, other: after }));
    case 'repeat': {
      const { item, least, most } = pattern;
      let first = next;
      if (most === Number.POSITIVE_INFINITY) {
        const loop: State = { next };
        first = add(loop);
        loop.other = build(item, first, add);
      } else
        for (let count = least; count < most; count += 1)
          first = add({ next, other: build(item, first, add) });
      for (let count = 0; count < least; count += 1) {
        const before = build(item, first, add);
        // The item is empty, so repeating it adds nothing.
        if (before === first) break;
        first = before;
      }
      return first;
    }
  }
};

const isHeld = (holds: Assertion, text: string, at: number): boolean => {
  if (holds === 'atStart') return at === 0;
  if (holds === 'atEnd') return at === text.length;
  // Before 3.14, Python matches neither `\b` nor `\B` in an empty text.
  if (text === '') return false;
  const [before, after] = [text.charAt(at - 1), text.charAt(at)].map((one) => /\w/.test(one));
  return (before !== after) === (holds === 'atBoundary');
};
