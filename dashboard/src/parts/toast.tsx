import { useEffect } from 'preact/hooks'
import { makeStore, useStore } from '../store.js'
import { Icon } from './icon.js'

interface Note {
  readonly id: number
  readonly text: string
  readonly tone: 'ok' | 'bad'
}

const SHOWN_MS = 6_000
const notes = makeStore<readonly Note[]>([])
let last = 0

/** Shows a message for a few seconds. */
export function toast(text: string, tone: Note['tone'] = 'ok'): void {
  last += 1
  notes.set([...notes.get().slice(-3), { id: last, text, tone }])
}

function drop(id: number): void {
  notes.set(notes.get().filter((note) => note.id !== id))
}

export function Toasts() {
  const shown = useStore(notes)
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((note) => (
        <ToastLine key={note.id} note={note} />
      ))}
    </div>
  )
}

function ToastLine({ note }: { readonly note: Note }) {
  useEffect(() => {
    const timer = setTimeout(() => drop(note.id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [note.id])
  return (
    <div class={`toast ${note.tone}`}>
      <Icon shape={note.tone === 'ok' ? 'check' : 'warn'} />
      <span>{note.text}</span>
      <button type="button" class="toast-close" aria-label="Close this message" onClick={() => drop(note.id)}>
        <Icon shape="cross" size={10} />
      </button>
    </div>
  )
}
