import { inspect } from 'node:util'

/** Longer texts are data: a page of 100 MB that somebody threw as a string. */
const MAX_CHARS = 1_000
const MAX_STACK_CHARS = 20_000

/**
 * What was thrown, as text. JavaScript may throw anything: null, a symbol, a revoked proxy, an error whose `message` throws. Code that reports
 * an error must not fail on it, so this never throws and its result is short.
 */
export function textOf(thrown: unknown): string {
  try {
    return messageOf(thrown) ?? shownThrown(thrown)
  } catch {
    return 'something that cannot be shown'
  }
}

/** The same with the name of the error's class in front, for the errors of other people's code: `TypeError: x is not a function`. */
export function namedText(thrown: unknown): string {
  const text = textOf(thrown)
  try {
    const name = isError(thrown) ? thrown.name : undefined
    return typeof name === 'string' && name !== '' ? `${name.slice(0, MAX_CHARS)}: ${text}` : text
  } catch {
    return text
  }
}

/** The error of a thread whose heap is full: Node's own message says no more than `terminated due to reaching memory limit`. */
export function isOutOfMemory(thrown: unknown): boolean {
  return isError(thrown) && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** Empty if it has none. It may be a getter of the user, like every property. */
export function stackOf(thrown: unknown): string {
  try {
    const stack: unknown = isError(thrown) ? thrown.stack : ''
    return typeof stack === 'string' ? stack.slice(0, MAX_STACK_CHARS) : ''
  } catch {
    return ''
  }
}

/**
 * The lines of the stack without the message before them, which may be a whole page, or text of a page in the form of a stack. Empty if it has none.
 */
export function framesOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return ''
    const stack: unknown = thrown.stack
    if (typeof stack !== 'string') return ''
    const start = framesStart(stack, thrown.message)
    return stack.slice(start, start + MAX_STACK_CHARS)
  } catch {
    return ''
  }
}

/** A stack begins with `Name: message`, or with the message of an error without a name. */
function framesStart(stack: string, message: unknown): number {
  if (typeof message !== 'string' || message === '') return 0
  const named = stack.indexOf(': ') + 2
  if (stack.startsWith(message, named)) return named + message.length
  return stack.startsWith(message) ? message.length : 0
}

/** Longer chains of causes are loops. */
const MAX_CAUSES = 8

/** What was thrown, and the errors that caused it, nearest first. */
export function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [thrown]
  try {
    for (let error = thrown; isError(error) && error.cause != null && chain.length < MAX_CAUSES; error = error.cause)
      chain.push(error.cause)
  } catch {
    // Its `cause` is a getter that throws.
  }
  return chain
}

/** `instanceof` asks the value for its prototype, which a proxy may refuse. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** Null: it is neither a text nor an error, of this realm or another. */
function messageOf(thrown: unknown): string | null {
  if (typeof thrown === 'string') return thrown.slice(0, MAX_CHARS)
  if (typeof thrown === 'function') return null
  if (typeof thrown !== 'object' || thrown === null) return String(thrown).slice(0, MAX_CHARS)
  const { message } = thrown as { readonly message?: unknown }
  return typeof message === 'string' ? message.slice(0, MAX_CHARS) : null
}

function shownThrown(thrown: unknown): string {
  const limits = { depth: 1, maxStringLength: 200, maxArrayLength: 10, breakLength: Number.POSITIVE_INFINITY }
  return inspect(thrown, { ...limits, customInspect: false }).slice(0, MAX_CHARS)
}
