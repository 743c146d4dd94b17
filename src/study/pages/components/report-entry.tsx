import { alive } from './alive.js';
import { ReportPage } from './report-page.js';

alive(ReportPage);
