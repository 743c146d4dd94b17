import { h } from 'preact';
import { AnalysisPage } from '../components/analysis-page.js';
import type { PageAnalysis } from '../components/data/data.js';
import { htmlPage } from '../html-page.js';
import { render } from '../render.js';

export const writeAnalysisPage = (data: PageAnalysis): Promise<string> =>
  htmlPage({
    title: `Task vectors of ${data.experts.map(({ name }) => name).join(', ')}`,
    body: render(h(AnalysisPage, { data })),
    data,
    script: 'analysis',
  });
