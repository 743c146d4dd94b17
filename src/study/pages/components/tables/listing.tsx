import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** Returns a test for texts with every word of a query. */
export const wordsOf = (query: string): ((text: string) => boolean) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
};

interface SearchFieldProps {
  label: string;
  hint: string;
  value: string;
  set: (value: string) => void;
  style?: string;
  children?: ComponentChildren;
}

export const SearchField = ({ label, hint, value, set, style = '', children }: SearchFieldProps) => (
  <label class={`filter ${style}`}>
    <span>{label}</span>
    <input
      type="search"
      value={value}
      placeholder={hint}
      onInput={(event) => set(event.currentTarget.value)}
    />
    {children}
  </label>
);

/** Divides a list into pages. `fromFirst` wraps a setter, so that each change opens the first page. */
export const usePages = <Item,>(items: readonly Item[], size: number, of: string) => {
  const [page, go] = useState(0);
  const pages = Math.max(1, Math.ceil(items.length / size));
  const at = Math.min(page, pages - 1);
  const buttons =
    pages <= 1 ? null : (
      <nav class="pages" aria-label={`Pages of ${of}`}>
        <button type="button" class="controls" disabled={at === 0} onClick={() => go(at - 1)}>
          Previous
        </button>
        <span>
          Page {at + 1} of {pages}
        </span>
        <button type="button" class="controls" disabled={at === pages - 1} onClick={() => go(at + 1)}>
          Next
        </button>
      </nav>
    );
  const fromFirst = (set: (value: string) => void) => (value: string) => {
    set(value);
    go(0);
  };
  return { shown: items.slice(at * size, (at + 1) * size), buttons, fromFirst };
};
