// System fonts: the site loads nothing from elsewhere.
import Theme from 'vitepress/theme-without-fonts';
import { CodeTabs } from './code-tabs.js';
import './style.css';

export default {
  extends: Theme,
  enhanceApp: ({ app }) => app.component('CodeTabs', CodeTabs),
};
