import { alive } from './alive.js';
import { ComparisonPage } from './comparison-page.js';

alive(ComparisonPage);
