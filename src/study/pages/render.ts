// This import must stay: the renderer calls hooks that it installs in preact's options.
import 'preact/hooks';

export { render } from 'preact-render-to-string';
