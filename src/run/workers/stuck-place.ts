import type { Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../clock.js'
import { placeOfFrame } from '../../error-place.js'

/** A thread that is stuck in native code does not stop for a debugger. */
const PATIENCE_MS = 2_000

/** What Node's inspector says. */
interface Frame {
  readonly location: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number }
}
interface FromThread {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly scriptSource?: string }
  readonly params?: { readonly scriptId?: string; readonly url?: string; readonly callFrames?: readonly Frame[] }
}

/**
 * Which line of the user's code a thread is stuck in, as in `books.ts:12:9`. Its event loop does not answer, so it is stopped for a moment by Node's own
 * debugger. Null: nobody knows. The thread must be terminated after this.
 */
export async function stuckPlace(threadId: number, clock: Clock): Promise<string | null> {
  try {
    const { Session } = await import('node:inspector')
    const session = new Session()
    session.connect()
    try {
      return await withinPatience(placeIn(session, threadId), clock)
    } finally {
      await detach(session)
      session.disconnect()
    }
  } catch {
    // This build of Node has no inspector.
    return null
  }
}

function withinPatience(place: Promise<string | null>, clock: Clock): Promise<string | null> {
  return new Promise((resolve) => {
    const forget = clock.after(PATIENCE_MS, () => resolve(null))
    void place.then(resolve, () => resolve(null)).finally(forget)
  })
}

/** Sessions that the inspector has with threads, by session; without a `detach` a thread that is stopped cannot be terminated. */
const attached = new WeakMap<Session, string>()

function detach(session: Session): Promise<void> {
  const sessionId = attached.get(session)
  if (sessionId === undefined) return Promise.resolve()
  return new Promise((resolve) => session.post('NodeWorker.detach', { sessionId }, () => resolve()))
}

async function placeIn(session: Session, threadId: number): Promise<string | null> {
  const thread = await attach(session, threadId)
  const files = new Map<string, string>()
  const frames = new Promise<readonly Frame[]>((resolve) => {
    thread.listen(({ method, params = {} }) => {
      if (method === 'Debugger.scriptParsed') files.set(params.scriptId ?? '', pathOf(params.url ?? ''))
      if (method === 'Debugger.paused') resolve(params.callFrames ?? [])
    })
  })
  void thread.call('Debugger.enable')
  void thread.call('Debugger.pause')
  for (const { location } of await frames) {
    const { scriptId, lineNumber, columnNumber } = location
    const place = { file: files.get(scriptId) ?? '', line: lineNumber + 1, column: columnNumber + 1 }
    const code = async () => (await thread.call('Debugger.getScriptSource', { scriptId })).scriptSource ?? ''
    const found = await placeOfFrame(place, code)
    if (found !== null) return found
  }
  return null
}

/** A conversation with the debugger of one thread, through the inspector of this one. */
interface DebuggedThread {
  listen(listener: (message: FromThread) => void): void
  call(method: string, params?: object): Promise<NonNullable<FromThread['result']>>
}

function attach(session: Session, threadId: number): Promise<DebuggedThread> {
  const listeners = new Set<(message: FromThread) => void>()
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    const message = JSON.parse(params.message) as FromThread
    for (const listener of listeners) listener(message)
  })
  return new Promise((resolve, reject) => {
    session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
      // Its `workerId` is a number of the inspector's own.
      if (!workerInfo.title.startsWith(`[worker ${threadId}]`)) return
      attached.set(session, sessionId)
      let calls = 0
      resolve({
        listen: (listener) => void listeners.add(listener),
        call(method, params = {}) {
          const id = ++calls
          const message = JSON.stringify({ id, method, params })
          return new Promise((answer) => {
            listeners.add((reply) => {
              if (reply.id === id) answer(reply.result ?? {})
            })
            session.post('NodeWorker.sendMessageToWorker', { sessionId, message })
          })
        },
      })
    })
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false }, (error) => {
      if (error !== null) reject(error)
    })
  })
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
