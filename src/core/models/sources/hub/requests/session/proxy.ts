import { Agent, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { LayerloomError } from '../../../../../base/errors/errors.js';
import { type HubVariable, variable } from '../../variables.js';
import { parseAddress } from './server-address.js';

export interface ConnectionLimits {
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  readonly connect: { readonly timeout: number };
  readonly connections: number;
}

export interface Connections {
  for(url: URL): Dispatcher;
  close(): Promise<void>;
}

const inEitherCase = (env: NodeJS.ProcessEnv, name: HubVariable): string | undefined =>
  env[name.toLowerCase()] || variable(env, name) || undefined;

/** True if a `NO_PROXY` entry matches a host: `*`, a name, or a domain, optionally with a port. */
const excludes = (entry: string, { hostname, host }: URL): boolean => {
  const name = entry.replace(/^\*?\./, '');
  return entry === '*' || [hostname, host].some((own) => own === name || own.endsWith(`.${name}`));
};

/** Returns the proxy from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case. */
export const proxyFor = (url: URL, env: NodeJS.ProcessEnv): string | undefined => {
  const exceptions = (inEitherCase(env, 'NO_PROXY') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  if (exceptions.some((entry) => excludes(entry.toLowerCase(), url))) return undefined;
  const proxy =
    inEitherCase(env, url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ??
    inEitherCase(env, 'ALL_PROXY');
  return proxy === undefined || /^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`;
};

const isProxy = (proxy: string): boolean => {
  const url = parseAddress(proxy);
  if (url === undefined) return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
};

/** Does not quote the address, which may contain a password. */
const notAProxy = ({ origin, protocol }: URL): LayerloomError =>
  new LayerloomError('HUB_UNAVAILABLE', {
    endpoint: origin,
    reason: `${protocol.slice(0, -1).toUpperCase()}_PROXY or ALL_PROXY is no address of a proxy that speaks HTTP`,
    remedy: 'give one such as http://proxy:3128, or list the host in NO_PROXY',
  });

type PoolOf = (origin: string | URL, options: object) => Pool;

/** Gives the proxy's own answer the same time limits, because a request waits for it. */
const throughProxy = (uri: string, limits: ConnectionLimits, poolOf: PoolOf): ProxyAgent => {
  const { headersTimeout, bodyTimeout } = limits;
  const clientFactory = (origin: URL, options: object) =>
    poolOf(origin, { ...options, headersTimeout, bodyTimeout });
  return new ProxyAgent({ uri, ...limits, factory: poolOf, clientFactory });
};

export const openConnections = (env: NodeJS.ProcessEnv, limits: ConnectionLimits): Connections => {
  const dispatchers = new Map<string | undefined, Dispatcher>();
  // Closes clients here, because a pool forgets a client that failed to connect, but may still give it a
  // waiting request.
  const clients = new Set<Client>();
  const clientOf = (origin: URL, options: object): Client => {
    const client = new Client(origin, options);
    clients.add(client);
    return client;
  };
  const poolOf: PoolOf = (origin, options) => new Pool(origin, { ...options, factory: clientOf });
  return {
    for: (url) => {
      const proxy = proxyFor(url, env);
      const known = dispatchers.get(proxy);
      if (known !== undefined) return known;
      if (proxy !== undefined && !isProxy(proxy)) throw notAProxy(url);
      const dispatcher =
        proxy === undefined ? new Agent({ ...limits, factory: poolOf }) : throughProxy(proxy, limits, poolOf);
      dispatchers.set(proxy, dispatcher);
      return dispatcher;
    },
    close: async () => {
      await Promise.all([...dispatchers.values(), ...clients].map((one) => one.destroy()));
    },
  };
};
