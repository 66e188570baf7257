import { ShoalError } from '../errors.js'
import { shown } from '../units.js'

/** How a value is written where it is inserted; left out: as it is. */
export type SecretForm = (typeof FORMS)[number]
export const FORMS = ['url', 'json', 'base64'] as const

/** What stands for a secret in a header or a body, in the queue and wherever else a request is stored. */
const REFERENCE = /\{\{secret\.([A-Za-z][A-Za-z0-9_]{0,63})(?::(url|json|base64))?\}\}/g
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/**
 * A reference to one of the spider's `secrets`, for a header or a body: `Bearer ${secret('apiKey')}`. The value takes its place when the request is
 * sent. `url` escapes it for a form, `json` for a string inside JSON, `base64` is for Basic authentication.
 */
export function secret(name: string, form?: SecretForm): string {
  // It is text from here on: what cannot be found in it again would be sent as it is.
  if (!SECRET_NAME.test(name) || (form !== undefined && !FORMS.includes(form)))
    throw new ShoalError(
      'spider_invalid',
      `secret(${shown(name)}): a name has letters, digits and underscores; a form is ${FORMS.join(', ')}`,
    )
  return `{{secret.${name}${form === undefined ? '' : `:${form}`}}}`
}

/** The text with each reference replaced by what `insert` returns; the same text if there is none. */
export function fillReferences(text: string, insert: (name: string, form: SecretForm | undefined) => string): string {
  if (!text.includes('{{secret.')) return text
  return text.replace(REFERENCE, (_reference, name: string, form: SecretForm | undefined) => insert(name, form))
}
