import { type ComponentType, hydrate } from 'preact';
import { printing } from './data/printing.js';

const element = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
};

export const alive = <Data,>(Page: ComponentType<{ data: Data }>): void => {
  const data = JSON.parse(element('data').textContent ?? '') as Data;
  hydrate(<Page data={data} />, element('page'));
  printing();
};
