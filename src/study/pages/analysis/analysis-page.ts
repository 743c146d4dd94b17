import { AnalysisPage } from '../components/analysis-page.js';
import type { PageAnalysis } from '../components/data/data.js';
import { htmlPage } from '../html-page.js';

export const writeAnalysisPage = (data: PageAnalysis): Promise<string> =>
  htmlPage(AnalysisPage, {
    title: `Task vectors of ${data.experts.map(({ name }) => name).join(', ')}`,
    data,
    script: 'analysis',
  });
