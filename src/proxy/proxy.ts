/** One proxy of a pool, or one session of a gateway. It has a pace of its own on every host, and a health that the fleet shares. */
export interface PoolProxy {
  /** Without secrets, and the same on every machine that has it: under this name the fleet keeps its health. */
  readonly id: ProxyId
  readonly pool: string
  /** 'datacenter', 'residential', 'mobile', or a name of the user's own. */
  readonly kind: string
  /** Two letters, lower case; null: anywhere. */
  readonly country: string | null
  /** Of its pool's requests, where the pool is weighted. */
  readonly weight: number
  readonly cost: ProxyCost
  readonly via: ViaProxy | ViaService | Direct
}

export type ProxyId = string

/** In any currency, one for all pools. */
export interface ProxyCost {
  readonly perRequest: number
  readonly perGb: number
}

/** A connection through a proxy. */
interface ViaProxy {
  readonly by: 'proxy'
  readonly proxy: ProxyServer
}

export interface ProxyServer {
  readonly protocol: 'http' | 'https' | 'socks5'
  /** Name or address. */
  readonly host: string
  readonly port: number
  /** Decoded; empty when there is none. */
  readonly username: string
  readonly password: string
}

/** A service that is given the wanted URL as a parameter of its own. */
interface ViaService {
  readonly by: 'wrap'
  /** The URL to ask in place of `url`. It holds the key of the service: never shown, logged or stored. */
  wrap(url: string): string
}

/** Without a proxy: for the routes of a spider that use none of its pools. */
interface Direct {
  readonly by: 'direct'
}
