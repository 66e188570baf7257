import { ShoalError } from '../errors.js'
import { nearest } from '../options.js'
import { shown } from '../units.js'
import { parseUrl } from '../url/parse-url.js'

/** A secret that requests refer to by name. Its value exists only in the memory of a worker, and on the way to one of its origins. */
export interface SpiderSecret {
  readonly name: string
  /** The environment variable that holds the value. */
  readonly env: string
  /** `https://api.example`: nowhere else is it sent. */
  readonly origins: readonly string[]
}

/** How a value is written where it is inserted; left out: as it is. */
export type SecretForm = (typeof FORMS)[number]
export const FORMS = ['url', 'json', 'base64'] as const

/** What stands for a secret in a header or a body, in the queue and wherever else a request is stored. */
const REFERENCE = /\{\{secret\.([A-Za-z][A-Za-z0-9_]{0,63})(?::(url|json|base64))?\}\}/g
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/**
 * A reference to one of the spider's `secrets`, for a header or a body: `Bearer ${secret('apiKey')}`. The value takes its place when the request is
 * sent. `url` escapes it for a form, `json` for a string inside JSON, `base64` is for Basic authentication.
 */
export function secret(name: string, form?: SecretForm): string {
  // It is text from here on: what cannot be found in it again would be sent as it is.
  if (!NAME.test(name) || (form !== undefined && !FORMS.includes(form)))
    throw invalid(`secret(${shown(name)}): a name has letters, digits and underscores; a form is ${FORMS.join(', ')}`)
  return `{{secret.${name}${form === undefined ? '' : `:${form}`}}}`
}

/** The text with each reference replaced by what `insert` returns; the same text if there is none. */
export function fillReferences(text: string, insert: (name: string, form: SecretForm | undefined) => string): string {
  if (!text.includes('{{secret.')) return text
  return text.replace(REFERENCE, (_reference, name: string, form: SecretForm | undefined) => insert(name, form))
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
    if (!NAME.test(name)) throw invalid(`secrets.${name}: a name has letters, digits and underscores, at most 64`)
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
