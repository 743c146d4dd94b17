import { Agent, type Dispatcher, ProxyAgent } from 'undici';

/** Limits of connections. */
export interface ConnectionLimits {
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  readonly connect: { readonly timeout: number };
  readonly connections: number;
}

/** Connections to servers, each directly or through the user's proxy. */
export interface Connections {
  for(url: URL): Dispatcher;
  close(): Promise<void>;
}

const variable = (env: NodeJS.ProcessEnv, name: string): string | undefined =>
  env[name] || env[name.toUpperCase()] || undefined;

/** True if an entry of `NO_PROXY` is about a host: `*`, a name, a domain with or without its dot, with or without port. */
const excludes = (entry: string, { hostname, host }: URL): boolean => {
  const name = entry.replace(/^\*?\./, '');
  return entry === '*' || [hostname, host].some((own) => own === name || own.endsWith(`.${name}`));
};

/** The proxy for an address by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case. */
export const proxyFor = (url: URL, env: NodeJS.ProcessEnv): string | undefined => {
  const exceptions = (variable(env, 'no_proxy') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  if (exceptions.some((entry) => excludes(entry.toLowerCase(), url))) return undefined;
  const proxy = variable(env, `${url.protocol.slice(0, -1)}_proxy`) ?? variable(env, 'all_proxy');
  return proxy === undefined || /^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`;
};

/** Opens no connection before one is asked for. */
export const openConnections = (env: NodeJS.ProcessEnv, limits: ConnectionLimits): Connections => {
  const dispatchers = new Map<string | undefined, Dispatcher>();
  return {
    for: (url) => {
      const proxy = proxyFor(url, env);
      const known = dispatchers.get(proxy);
      if (known !== undefined) return known;
      const dispatcher = proxy === undefined ? new Agent(limits) : new ProxyAgent({ uri: proxy, ...limits });
      dispatchers.set(proxy, dispatcher);
      return dispatcher;
    },
    close: async () => {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
};
