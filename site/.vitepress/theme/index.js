// System fonts: the site loads nothing from elsewhere.
import Theme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import { CodeTabs } from './code-tabs.js';
import { SwapPicture } from './swap-picture.js';
import './style.css';

export default {
  extends: Theme,
  Layout: () => h(Theme.Layout, null, { 'home-hero-image': () => h(SwapPicture) }),
  enhanceApp: ({ app }) => app.component('CodeTabs', CodeTabs),
};
