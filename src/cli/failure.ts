import { CommanderError } from 'commander'
import { spiderError } from '../error-place.js'
import { asShoalError, isShoalError, ShoalError } from '../errors.js'
import { jsonText } from '../json-text.js'
import { limitText, openFilesLimit } from '../open-files.js'
import { stackOf, textOf } from '../thrown.js'
import { isOfSpider } from '../uncaught.js'
import { withoutUserInfo } from '../url/show-url.js'
import { clean, cleanLayout } from './terminal/clean.js'
import type { Style } from './terminal/style.js'

/** The message of a failed command, as text or JSON: the code, what happened, what to do next. */
export function failureText(
  thrown: unknown,
  how: { readonly json: boolean; readonly debug: boolean; readonly style: Style },
): string {
  const error = asUserError(thrown)
  const { code, hint } = error
  // A password may be in a URL that was typed, or in what a server says about its address.
  const message = withoutUserInfo(withLimit(error))
  if (how.json) return `${jsonText({ error: { code, message, hint } })}\n`
  const { style } = how
  const lines = [`${style.red('error')} ${style.bold(code)}: ${clean(message)}`, `  → ${clean(hint)}`]
  if (how.debug) lines.push(cleanLayout(withoutUserInfo(stacksOf(error))))
  return `${lines.join('\n')}\n`
}

/** Which limit it is that was reached, where the message does not say so already. */
function withLimit({ code, message }: ShoalError): string {
  const limit = code === 'no_sockets' ? limitText(openFilesLimit()) : ''
  return message.includes('files and sockets open') ? message : `${message}${limit}`
}

/** Errors in the command line come from commander; all others are ours. */
export function asUserError(thrown: unknown): ShoalError {
  if (!(thrown instanceof CommanderError)) return asShoalError(thrown)
  if (thrown.code === 'commander.help') return new ShoalError('usage', 'incomplete command')
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n')
  const guess = suggestionIn(rest.join(' '))
  return new ShoalError('usage', guess === null ? first : `${first}, did you mean ${guess}?`)
}

/** `(Did you mean a?)`, `(Did you mean one of a, b?)`: what commander suggests. */
function suggestionIn(message: string): string | null {
  const start = message.indexOf(SUGGESTS)
  const end = message.lastIndexOf('?)')
  if (start === -1 || end <= start + SUGGESTS.length) return null
  return message.slice(start + SUGGESTS.length, end).replace(/^one of /, '')
}

const SUGGESTS = '(Did you mean '

/** An uncaught exception. `try` runs the spider's code in this thread: what is thrown there is not a bug in Shoal. */
export function asUncaught(thrown: unknown): unknown {
  if (isShoalError(thrown) || !isOfSpider(thrown)) return thrown
  return spiderError('handler_error', thrown, `uncaught exception in the spider: ${textOf(thrown)}`)
}

function stacksOf(error: ShoalError): string {
  const cause = stackOf(error.cause)
  return `${stackOf(error)}${cause === '' ? '' : `\ncaused by ${cause}`}`
}
