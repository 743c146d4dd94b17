import { hydrate } from 'preact';
import type { ReportData } from './data.js';
import { printing } from './printing.js';
import { ReportPage } from './report-page.js';

const element = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
};

const data = JSON.parse(element('data').textContent ?? '') as ReportData;
hydrate(<ReportPage data={data} />, element('page'));
printing();
