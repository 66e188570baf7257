import { basename, dirname, isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, isShoalError, ShoalError } from './errors.js'
import { keepScript, originalPlace } from './source-maps.js'
import { type Place, placeIn, placeText } from './stack-place.js'
import { causesOf, framesOf, isError, namedText } from './thrown.js'

const OURS = fileURLToPath(new URL('.', import.meta.url))
const PACKAGE = /[/\\]node_modules[/\\]/

/**
 * Where in the user's own code an error happened, as in `books.ts:12:9`: the first frame that is neither Shoal's nor a package's nor Node's, in the file as
 * it was written. Null: the stack names none, or there is no stack.
 */
export function placeOf(thrown: unknown): string | null {
  for (const error of causesOf(thrown)) {
    const place = firstOwn(framesOf(error))
    if (place === null) continue
    return shownPlace(place)
  }
  return null
}

/**
 * What the user's code threw, as an error of ours that says where. The place comes first, as compilers write it, so that no view that shortens the
 * message cuts it off.
 */
export function spiderError(code: ErrorCode, thrown: unknown, text = namedText(thrown)): ShoalError {
  // A new one: the properties of the old one may be getters of the user.
  const cause = isError(thrown) ? { cause: thrown } : {}
  const known = isShoalError(thrown) ? thrown.place : null
  if (known !== null) return new ShoalError(code, text, { ...cause, place: known })
  const place = placeOf(thrown)
  const message = asWritten(text)
  return new ShoalError(code, place === null ? message : `${place}: ${message}`, { ...cause, place })
}

/**
 * The place of a frame that a debugger shows, as in `placeOf`; null if it is not in the user's own code. `script` is the code that runs there, and may be of
 * another thread: what this one knows about the file is not enough.
 */
export async function placeOfFrame(frame: Place, script: () => Promise<string>): Promise<string | null> {
  if (!isAbsolute(frame.file) || !isOwnFile(frame.file)) return null
  keepScript(frame.file, await script())
  return shownPlace(frame)
}

function shownPlace(place: Place): string {
  return placeText({ ...originalPlace(place), file: shortPath(place.file, workingFolder()) })
}

/** Whether a file is part of the user's own code. */
export function isOwnFile(file: string): boolean {
  return !file.startsWith(OURS) && !PACKAGE.test(file)
}

/** Of the lines of a stack trace, the first that names a file of the user's. */
function firstOwn(frames: string): Place | null {
  for (const line of frames.split('\n')) {
    // A line of the message may look like anything else.
    if (!line.startsWith('    at ')) continue
    const place = placeIn(line)
    if (place !== null && isOwnFile(place.file)) return place
  }
  return null
}

/** A call of an imported function is `(0 , _prices.priceOf)(…)` in compiled code, and so it is in the message of an error. */
export function asWritten(text: string): string {
  return text.replace(IMPORTED, (_all, module: string, name: string) => (name === 'default' ? module : name))
}

const IMPORTED = /\(0 ?, ?_(\w{1,100})\.(\w{1,100})\)/g

/**
 * Relative to the working folder. From anywhere else the file and its folder are enough to find it: the message is stored, and the folders of this machine
 * are nobody else's business.
 */
export function shortPath(file: string, folder: string | null): string {
  return inside(file, folder) ?? [basename(dirname(file)), basename(file)].filter(Boolean).join('/')
}

/** The path from the working folder; null: the file is somewhere else. */
export function insideWorkingFolder(file: string): string | null {
  return inside(file, workingFolder())
}

function inside(file: string, folder: string | null): string | null {
  const path = folder === null ? '' : relative(folder, file)
  return path === '' || isAbsolute(path) || path.split(sep, 1)[0] === '..' ? null : path
}

/** Null: it was deleted. */
function workingFolder(): string | null {
  try {
    return process.cwd()
  } catch {
    return null
  }
}
