import { useId, useState } from 'preact/hooks'
import { type ApiFailure, checkToken } from './api.js'
import { failureFrom } from './load.js'
import { Button } from './parts/button.js'
import { Failure } from './parts/failure.js'
import { Mark } from './parts/mark.js'
import { keepToken } from './token.js'

/** Shown when there is no token, or the server rejects it. */
export function SignIn() {
  const id = useId()
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const go = async () => {
    setBusy(true)
    try {
      await checkToken(text.trim())
      keepToken(text.trim())
    } catch (error) {
      setFailure(failureFrom(error))
      setBusy(false)
    }
  }
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        <Mark size={48} />
        <h1>Shoal</h1>
        <p class="muted">
          <code>shoal dashboard</code> prints an address that contains the token. Open that address, or paste the token
          here.
        </p>
        <label for={id}>Token</label>
        <input
          id={id}
          type="password"
          autocomplete="off"
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {failure === null ? null : <Failure failure={failure} />}
        <Button kind="primary" submit busy={busy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
