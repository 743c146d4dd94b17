// For its effect: the renderer calls the hooks that preact's options name when it begins.
import 'preact/hooks';

export { render } from 'preact-render-to-string';
