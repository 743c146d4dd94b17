// System fonts: the site loads nothing from elsewhere.
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

export default Theme;
