import { ShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { secretIn } from '../secret-file.js'
import { FORMS, fillReferences, type SecretForm } from '../spider/secret-reference.js'
import { type SpiderSecret, unknownSecret } from '../spider/secrets.js'
import type { RequestExtras } from '../url/link.js'
import { withoutUserInfo } from '../url/show-url.js'

type Env = Readonly<Record<string, string | undefined>>

/** The values of a spider's secrets, in the worker that sends its requests. */
export interface Secrets {
  /**
   * The request with values instead of references: the last step before it is sent. A value goes to the origins of its secret only. A header that
   * the spider sends with every request (`defaults`) is left out elsewhere; a link that asks for it in its own headers or body fails.
   */
  fill<Request extends RequestExtras & { readonly url: string }>(request: Request, defaults: Headers): Request
  /** The text without values that a site has echoed, for log lines and messages. */
  masked(text: string): string
}

type Headers = Readonly<Record<string, string>>

/** A shorter value is part of too many ordinary words. */
const MASKED_FROM = 6
const CONTROL = /\p{Cc}/u
const LATIN_1 = /^[\t\x20-\x7e\x80-\xff]*$/

/** Null: the spider has none. Fails if one of them is not set. */
export function openSecrets(spider: string, secrets: readonly SpiderSecret[], env: Env): Secrets | null {
  if (secrets.length === 0) return null
  const values = new Map(secrets.map((one) => [one.name, { ...one, value: valueIn(spider, one, env) }]))
  const names = [...values.keys()]
  const forms = (value: string) => [value, ...FORMS.map((form) => written(value, form))]
  // The longest first: one value may be part of another.
  const hidden = [...new Set([...values.values()].flatMap(({ value }) => forms(value)))]
    .filter(({ length }) => length >= MASKED_FROM)
    .sort((a, b) => b.length - a.length)
  for (const value of hidden) openedValues.add(value)

  const fillText = (text: string, origin: string): string =>
    fillReferences(text, (name, form) => {
      const secret = values.get(name)
      if (secret === undefined) throw new ShoalError('secret_refused', unknownSecret(name, names))
      if (!secret.origins.includes(origin))
        throw new ShoalError('secret_refused', `the secret '${name}' is not for ${origin}`)
      return written(secret.value, form)
    })

  const fillHeaders = (headers: Headers, origin: string, defaults: Headers): Headers => {
    const filled: Record<string, string> = {}
    for (const [name, text] of Object.entries(headers)) {
      try {
        filled[name] = headerValue(name, fillText(text, origin))
      } catch (error) {
        if (defaults[name] !== text) throw error
      }
    }
    return filled
  }

  return {
    fill(request, defaults) {
      const { headers, body, url } = request
      const { origin } = new URL(url)
      return {
        ...request,
        ...(headers !== undefined && { headers: fillHeaders(headers, origin, defaults) }),
        ...(body !== undefined && { body: fillText(body, origin) }),
      }
    },
    masked: (text) => withoutValues(text, hidden),
  }
}

/** Of all secrets that were opened in this thread: what spider code prints belongs to no spider in particular. */
const openedValues = new Set<string>()

/** The text without the value of any secret that was opened in this thread. */
export function withoutOpenedSecrets(text: string): string {
  return openedValues.size === 0
    ? text
    : withoutValues(
        text,
        [...openedValues].sort((a, b) => b.length - a.length),
      )
}

function withoutValues(text: string, values: readonly string[]): string {
  return values.reduce((masked, value) => masked.replaceAll(value, '***'), text)
}

/** Log lines in which a site cannot show a value that it was sent: in the address of a redirect, in a message. */
export function maskedLog(log: Log, { masked }: Secrets): Log {
  const hide = (fields: Readonly<Record<string, unknown>> = {}) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? masked(value) : value]),
    )
  return {
    verbose: log.verbose,
    debug(event, fields) {
      if (log.verbose) log.debug(event, hide(fields))
    },
    info: (event, fields) => log.info(event, hide(fields)),
    warn: (event, fields) => log.warn(event, hide(fields)),
    error: (event, fields) => log.error(event, hide(fields)),
    spider: (level, event, fields) => log.spider(level, event, hide(fields)),
  }
}

/** What a site was sent may be in its answer, such as the address of a redirect, and a password in the link that a handler did not expect. */
export function withoutSecrets(error: ShoalError, secrets: Secrets | null | undefined): ShoalError {
  const shown = withoutUserInfo(error.message)
  const message = secrets?.masked(shown) ?? shown
  const { code, hint, cause, place } = error
  return message === error.message ? error : new ShoalError(code, message, { hint, cause, place })
}

/** Nothing of the value is shown, not even its length. */
function valueIn(spider: string, { name, env: variable }: SpiderSecret, env: Env): string {
  const refuse = (fault: string) =>
    new ShoalError('secret_missing', `${spider}: the environment variable ${variable} of the secret '${name}' ${fault}`)
  const value = secretIn(variable, env)?.value
  if (value === undefined) throw refuse('is not set or empty')
  if (CONTROL.test(value)) throw refuse('contains a line break or another control character')
  return value
}

function headerValue(name: string, text: string): string {
  if (LATIN_1.test(text)) return text
  throw new ShoalError('secret_refused', `the header ${name} would have characters that no header can have`)
}

function written(value: string, form: SecretForm | undefined): string {
  switch (form) {
    case undefined:
      return value
    case 'url':
      return encodeURIComponent(value)
    case 'json':
      return JSON.stringify(value).slice(1, -1)
    case 'base64':
      return Buffer.from(value, 'utf8').toString('base64')
  }
}
