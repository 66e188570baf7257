import { ShoalError } from '../errors.js'
import { nearest } from '../nearest.js'
import { shown } from '../units.js'
import { parseUrl } from '../url/parse-url.js'
import { fillReferences, SECRET_NAME } from './secret-reference.js'

/** A secret that requests refer to by name. Its value exists only in the memory of a worker, and on the way to one of its origins. */
export interface SpiderSecret {
  readonly name: string
  /** The environment variable that holds the value. */
  readonly env: string
  /** `https://api.example`: nowhere else is it sent. */
  readonly origins: readonly string[]
}

/** As a definition has them, with the headers that refer to them. */
interface DefinedSecrets {
  readonly secrets: Readonly<Record<string, Omit<SpiderSecret, 'name'>>>
  readonly headers: Readonly<Record<string, string>>
}

/** Why there is no such secret, for whoever wrote the reference. */
export function unknownSecret(name: string, known: readonly string[]): string {
  const guess = nearest(name, known)
  return `the spider has no secret ${shown(name)}${guess === null ? '' : `, did you mean '${guess}'?`}`
}

export function secretsOf({ secrets, headers }: DefinedSecrets): readonly SpiderSecret[] {
  const names = Object.keys(secrets)
  for (const name of names)
    if (!SECRET_NAME.test(name))
      throw invalid(`secrets.${name}: a name has letters, digits and underscores, at most 64`)
  for (const [header, text] of Object.entries(headers))
    fillReferences(text, (name) => {
      if (!names.includes(name)) throw invalid(`headers.${header}: ${unknownSecret(name, names)}`)
      return ''
    })
  return Object.entries(secrets).map(([name, { env, origins }]) => ({
    ...{ name, env },
    origins: origins.map((origin, index) => originOf(origin, `secrets.${name}.origins[${index}]`)),
  }))
}

/** A path would promise more than is checked. */
function originOf(text: string, path: string): string {
  const url = parseUrl(text)
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (!isOrigin) throw invalid(`${path}: expected an origin like 'https://api.example', not ${shown(text)}`)
  return url.origin
}

function invalid(message: string): ShoalError {
  return new ShoalError('spider_invalid', message)
}
