import { alive } from './alive.js';
import { AnalysisPage } from './analysis-page.js';

alive(AnalysisPage);
