import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { htmlPage } from '../html-page.js';
import { AnalysisPage } from '../pages/analysis-page.js';
import type { PageAnalysis } from '../pages/data.js';

/** Writes the page of an analysis: one HTML file, which needs no network. */
export const writeAnalysisPage = (data: PageAnalysis): Promise<string> =>
  htmlPage({
    title: `Task vectors of ${data.experts.map(({ name }) => name).join(', ')}`,
    body: render(h(AnalysisPage, { data })),
    data,
    script: 'analysis',
  });
