import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { secretIn } from '../secret-file.js'
import { parseUrl } from '../url/parse-url.js'
import type { Pool } from './pool.js'
import { type GatewayPool, KINDS, type ListPool, type WrapPool, type WrittenPool } from './pool-schema.js'
import { linesOf, readText } from './pool-text.js'
import type { PoolProxy, ProxyCost, ProxyServer } from './proxy.js'
import { parseProxyUrl, placeOf, poolError, userTag } from './proxy-url.js'

/** Where secrets that a pool names are looked for. */
export interface SecretPlaces {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of the file with the pools: paths in it are relative to this. */
  readonly baseDir: string
}

const MOST_PROXIES = 10_000

export function buildPool(name: string, written: WrittenPool, places: SecretPlaces): Pool {
  const kind = written.kind ?? name
  const defaults = KINDS[kind] ?? KINDS.datacenter
  if (defaults === undefined) throw new Error('the kind datacenter has defaults')
  const proxies =
    'entries' in written
      ? listProxies(name, kind, written, places)
      : written.service === 'gateway'
        ? gatewayProxies(name, kind, written, places)
        : wrapProxies(name, kind, written, places)
  if (proxies.length > MOST_PROXIES) throw poolError(`${name}: more than ${MOST_PROXIES} proxies`)
  const { rest, rotation } = written
  const baseMs = rest.first ?? defaults.rest.baseMs
  return {
    name,
    kind,
    proxies,
    rest: {
      strikes: rest.strikes ?? defaults.rest.strikes,
      baseMs,
      capMs: Math.max(baseMs, rest.longest ?? defaults.rest.capMs),
    },
    rotation: {
      requests: rotation.requests ?? defaults.rotation.requests,
      timeMs: rotation.time ?? defaults.rotation.timeMs,
    },
  }
}

interface NamedProxy {
  readonly proxy: ProxyServer
  readonly name: string | undefined
  readonly weight: number
  readonly country: string | null
  readonly cost: ProxyCost
}

function listProxies(pool: string, kind: string, written: ListPool, places: SecretPlaces): PoolProxy[] {
  const password = secretOf(pool, 'password', written.passwordEnv, written.passwordFile, places)
  const { entries } = written
  const plain = typeof entries === 'string' ? listAt(pool, entries, places) : entries
  const proxies = plain.map((entry, index): NamedProxy => {
    const parsed = parseProxyUrl(entry.url)
    if ('wrong' in parsed) throw poolError(`${pool}.entries[${index}]: ${parsed.wrong}`)
    const proxy = withPassword(parsed.proxy, password)
    const country = entry.country ?? written.country ?? null
    return { proxy, name: entry.name, weight: entry.weight, country, cost: entry.cost ?? written.cost }
  })
  const ids = idsOf(pool, proxies)
  return proxies.flatMap(({ proxy, weight, country, cost }, index) => {
    const id = ids[index]
    return id === undefined || id === null
      ? []
      : [{ id, pool, kind, country, weight, cost, via: { by: 'proxy' as const, proxy } }]
  })
}

function listAt(pool: string, reference: string, { env, baseDir }: SecretPlaces): ListEntry[] {
  const name = reference.slice(reference.indexOf(':') + 1)
  const inEnv = reference.startsWith('env:')
  const text = inEnv ? env[name] : readText(resolve(baseDir, name), `${pool}.entries`)
  if (text === undefined || text.trim() === '')
    throw poolError(`${pool}.entries: ${inEnv ? name : 'the file'} is empty`)
  const urls = inEnv ? text.split(/[\s,]+/).filter((word) => word !== '') : linesOf(text)
  return urls.map((url) => ({ url, weight: 1 }))
}

type ListEntry = Exclude<ListPool['entries'], string>[number]

/** A name where there is one, else host and port, with a tag of the user where several share them. Null: the very same proxy again. */
function idsOf(pool: string, proxies: readonly NamedProxy[]): (string | null)[] {
  const users = new Map<string, Set<string>>()
  for (const { proxy, name } of proxies) {
    if (name !== undefined) continue
    const place = placeOf(proxy)
    users.set(place, (users.get(place) ?? new Set()).add(userTag(proxy)))
  }
  const taken = new Map<string, NamedProxy>()
  return proxies.map((one, index) => {
    const place = placeOf(one.proxy)
    const shared = (users.get(place)?.size ?? 0) > 1
    const id = one.name ?? (shared ? `${place}~${userTag(one.proxy)}` : place)
    const before = taken.get(id)
    if (before === undefined) {
      taken.set(id, one)
      return id
    }
    if (one.name === undefined && before.name === undefined && before.proxy.password === one.proxy.password) return null
    throw poolError(`${pool}.entries[${index}]: another entry is called ${id} already: give each a name of its own`)
  })
}

function withPassword(proxy: ProxyServer, password: string | null): ProxyServer {
  return password !== null && proxy.username !== '' && proxy.password === '' ? { ...proxy, password } : proxy
}

/** Each session of a back-connect gateway is a proxy: the provider keeps its address while the user name stays the same. */
function gatewayProxies(pool: string, kind: string, written: GatewayPool, places: SecretPlaces): PoolProxy[] {
  const { url, sessions } = written
  const password = secretOf(pool, 'password', written.passwordEnv, written.passwordFile, places)
  const has = placeholders(pool, url, ['session', 'country', 'password'])
  if (has.has('password') && password === null) throw poolError(`${pool}: {password} needs passwordEnv or passwordFile`)
  refuseInHost(pool, url, '{password}')
  if (sessions > 1 && !has.has('session')) throw poolError(`${pool}.url: several sessions need {session} in it`)
  return sessionsOf(pool, written, has).map(({ country, session, suffix }) => {
    const parsed = parseProxyUrl(fill(url, { session, country: country ?? '', password: password ?? '' }))
    if ('wrong' in parsed) throw poolError(`${pool}.url: ${parsed.wrong}`)
    const proxy = withPassword(parsed.proxy, password)
    const via = { by: 'proxy' as const, proxy }
    return { id: `${placeOf(proxy)}${suffix}`, pool, kind, country, weight: 1, cost: written.cost, via }
  })
}

/** A service that fetches for us. Its `sessions` say how many requests it may be asked for as if by so many proxies. */
function wrapProxies(pool: string, kind: string, written: WrapPool, places: SecretPlaces): PoolProxy[] {
  const { url: template } = written
  const key = secretOf(pool, 'key', written.keyEnv, written.keyFile, places)
  const has = placeholders(pool, template, ['url', 'key', 'session', 'country'])
  if (!has.has('url')) throw poolError(`${pool}.url: {url} is missing: where the wanted URL goes`)
  if (has.has('key') && key === null) throw poolError(`${pool}: {key} needs keyEnv or keyFile`)
  refuseInHost(pool, template, '{key}')
  return sessionsOf(pool, written, has).map(({ country, session, suffix }) => {
    const values = { session, country: country ?? '', key: key ?? '' }
    const service = parseUrl(fill(template, { ...values, url: '' }))
    if (service === null || !/^https?:$/.test(service.protocol))
      throw poolError(`${pool}.url: expected an http or https URL`)
    const via = { by: 'wrap' as const, wrap: (url: string) => fill(template, { ...values, url }) }
    return { id: `${service.host}${suffix}`, pool, kind, country, weight: 1, cost: written.cost, via }
  })
}

interface ServiceSession {
  readonly country: string | null
  readonly session: string
  readonly suffix: string
}

function sessionsOf(pool: string, written: GatewayPool | WrapPool, has: ReadonlySet<string>): ServiceSession[] {
  const { sessions, countries } = written
  if (countries !== undefined && !has.has('country')) throw poolError(`${pool}.url: countries need {country} in it`)
  const wanted = [...new Set(countries ?? (written.country === undefined ? [] : [written.country]))]
  if (has.has('country') && wanted.length === 0) throw poolError(`${pool}: {country} needs country or countries`)
  return (wanted.length === 0 ? [null] : wanted).flatMap((country) =>
    Array.from({ length: sessions }, (_, index) => {
      const tail = [...(has.has('country') && country !== null ? [country] : []), ...(sessions > 1 ? [index + 1] : [])]
      return {
        country,
        // The same on every machine, so that it is the same proxy.
        session: createHash('sha256')
          .update(`${pool} ${country ?? ''} ${index}`)
          .digest('hex')
          .slice(0, 10),
        suffix: tail.length === 0 ? '' : `#${tail.join('-')}`,
      }
    }),
  )
}

function placeholders(pool: string, template: string, known: readonly string[]): Set<string> {
  const found = [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '')
  if (found.some((name) => !known.includes(name)))
    throw poolError(
      `${pool}.url: it may have ${known.map((name) => `{${name}}`).join(', ')}, and has another placeholder`,
    )
  return new Set(found)
}

/** Names of hosts are shown, stored, and asked of name servers in the clear. */
function refuseInHost(pool: string, template: string, secret: string): void {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(template)?.[1] ?? ''
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(secret))
    throw poolError(`${pool}.url: ${secret} is a secret and must not be part of a host name`)
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(values[name] ?? ''))
}

/** Null: none is named. */
function secretOf(
  pool: string,
  what: 'password' | 'key',
  envName: string | undefined,
  file: string | undefined,
  { env, baseDir }: SecretPlaces,
): string | null {
  if (envName !== undefined && file !== undefined) throw poolError(`${pool}: give ${what}Env or ${what}File, not both`)
  if (envName !== undefined) {
    const value = secretIn(envName, env)?.value ?? ''
    if (value === '') throw poolError(`${pool}.${what}Env: ${envName} is not set`)
    return value
  }
  if (file === undefined) return null
  const value = readText(resolve(baseDir, file), `${pool}.${what}File`).trim()
  if (value === '') throw poolError(`${pool}.${what}File: the file is empty`)
  return value
}
