"use strict";
// Copies the text of a command or a scenario. Everything on the page is readable without it.
document.documentElement.classList.add("scripted");
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    let done = false;
    try {
      await navigator.clipboard.writeText(source.textContent);
      done = true;
    } catch {
      // From disk there may be no clipboard: select the text, so that one key press copies it.
      const range = document.createRange();
      range.selectNodeContents(source);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      try { done = document.execCommand("copy"); } catch { done = false; }
    }
    button.textContent = done ? "copied" : "selected: press Ctrl+C";
    setTimeout(() => { button.textContent = "copy"; }, 2500);
  });
}
