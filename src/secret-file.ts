import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { ShoalError } from './errors.js'

type Env = Readonly<Record<string, string | undefined>>

export interface Found {
  /** The variable that was set: `SHOAL_TOKEN` or `SHOAL_TOKEN_FILE`. */
  readonly name: string
  readonly value: string
}

/** A password or an address has a few hundred bytes: more is the wrong file. */
const MOST_BYTES = 64 * 1024

const CONTROL = /\p{Cc}/u
/** The value of the variable is shown only if it can be nothing but a path: people also write the secret itself there. */
const PATH = /^\.{0,2}\/(?!.*:\/\/)/s

/** `SHOAL_TOKEN_FILE` for `SHOAL_TOKEN`: the convention of the official images of Postgres, MySQL and many others. */
export function fileVariable(name: string): string {
  return `${name}_FILE`
}

/** The variable itself, or the content of the file that `<NAME>_FILE` names. Null: neither is set; an empty one counts as not set. */
export function secretIn(name: string, env: Env): Found | null {
  const path = filePathIn(name, env)
  if (path !== null) return { name: path.name, value: readSecretFile(path.value, name) }
  const value = env[name]
  return value ? { name, value } : null
}

/** The path in `<NAME>_FILE`, of which the caller reads the file. Null: it is not set. */
export function filePathIn(name: string, env: Env): Found | null {
  const variable = fileVariable(name)
  const path = env[variable]
  if (!path) return null
  if (env[name])
    throw invalid(`both ${name} and ${variable} are set`, `Set one of them, and remove or empty the other.`)
  return { name: variable, value: path }
}

/** The content without the newline at its end, which `echo` and every editor add. No message shows any of it. */
function readSecretFile(path: string, name: string): string {
  const variable = fileVariable(name)
  const file = PATH.test(path) ? `the file ${path}` : 'the file that it names'
  const refuse = (fault: string, hint: string) => invalid(`${variable}: ${file} ${fault}`, hint)
  const bytes = readAtMost(path, MOST_BYTES + 1, refuse)
  if (bytes.length > MOST_BYTES)
    throw refuse(`is larger than ${MOST_BYTES / 1024} KB`, `It must hold the value of ${name} and nothing else.`)
  const text = textOf(bytes)
  if (text === null) throw refuse('is not UTF-8 text', 'Save it as UTF-8.')
  const value = text.slice(0, endOfLine(text))
  if (value === '') throw refuse('is empty', `Write the value of ${name} into it, or unset ${variable}.`)
  if (CONTROL.test(value))
    throw refuse(
      'has several lines or a control character',
      `It must hold the value of ${name} in one line, and nothing else.`,
    )
  return value
}

function endOfLine(text: string): number {
  let end = text.length
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end -= 1
  return end
}

type Refuse = (fault: string, hint: string) => ShoalError

function readAtMost(path: string, most: number, refuse: Refuse): Uint8Array {
  let descriptor: number
  try {
    // A pipe that nobody writes to would block the start for ever.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw unreadable(error, refuse)
  }
  try {
    const stats = fstatSync(descriptor)
    if (stats.isDirectory())
      throw refuse('is a folder', 'Name the file in it. Docker creates a folder where a file to mount is missing.')
    if (!stats.isFile()) throw refuse('is not a regular file', 'Name a file: pipes and devices are not read.')
    const bytes = new Uint8Array(most)
    let length = 0
    for (;;) {
      const read = readSync(descriptor, bytes, length, most - length, null)
      length += read
      if (read === 0 || length === most) return bytes.subarray(0, length)
    }
  } catch (error) {
    throw error instanceof ShoalError ? error : unreadable(error, refuse)
  } finally {
    closeSync(descriptor)
  }
}

function unreadable(error: unknown, refuse: Refuse): ShoalError {
  const { code = 'error' } = error as NodeJS.ErrnoException
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return refuse('does not exist', 'The variable holds the path of a file: check the path and that it is mounted.')
    case 'EACCES':
    case 'EPERM':
      return refuse(
        `cannot be read by this user (uid ${process.getuid?.() ?? 'unknown'})`,
        'Change its owner or mode: 0440 with a matching group is enough (`fsGroup` in Kubernetes).',
      )
    default:
      return refuse(`cannot be read (${code})`, 'The variable holds the path of a file: check the path.')
  }
}

/** Null: other bytes than UTF-8, such as the UTF-16 that PowerShell writes with `>`. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function invalid(message: string, hint: string): ShoalError {
  return new ShoalError('config_invalid', message, { hint })
}
