// Imported for its effect: the renderer calls the hooks in preact's options.
import 'preact/hooks';

export { render } from 'preact-render-to-string';
