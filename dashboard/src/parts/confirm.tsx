import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiFailure } from '../api.js'
import { failureFrom } from '../load.js'
import { makeStore, useStore } from '../store.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { Failure } from './failure.js'
import { toast } from './toast.js'

export interface Question {
  /** `Cancel the crawl shop-2?` */
  readonly title: string
  /** Exactly what will happen, and what will not. */
  readonly says: ComponentChildren
  /** What the button does: `Cancel the crawl`. */
  readonly action: string
  readonly danger?: boolean
  /** Runs the action; its result is shown as a toast. If it throws, the error is shown and the dialog stays open. */
  readonly run: () => Promise<string>
}

const asked = makeStore<Question | null>(null)

/** Every action that changes something asks for confirmation first. */
export function confirm(question: Question): void {
  asked.set(question)
}

export function ConfirmHost() {
  const question = useStore(asked)
  return question === null ? null : <ConfirmDialog key={question.title} question={question} />
}

function ConfirmDialog({ question }: { readonly question: Question }) {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const close = () => asked.set(null)
  const go = async () => {
    setBusy(true)
    setFailure(null)
    try {
      toast(await question.run())
      close()
    } catch (error) {
      setFailure(failureFrom(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={question.title} onClose={close}>
      <div class="prose">{question.says}</div>
      {failure === null ? null : <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={close}>Go back</Button>
        <Button kind={question.danger ? 'danger' : 'primary'} busy={busy} onClick={go}>
          {question.action}
        </Button>
      </div>
    </Dialog>
  )
}
