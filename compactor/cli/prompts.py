"""`compactor prompts`: the shipped prompts and what each tries."""

import click


@click.command("prompts")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a prompt.")
def prompts_command(name: str | None, as_json: bool) -> None:
    """List the shipped prompts with their one idea, or show the template NAME."""
    from compactor.cli.terminal import write_json, write_text
    from compactor.js_text import json_text, utf8
    from compactor.prompt_file import load_prompts, shipped_prompts

    if name is not None:
        prompts = load_prompts(name)
        text = next(t.text for t in prompts.templates if t.name == prompts.history).strip()
        if as_json:
            write_json(utf8(json_text({"name": prompts.name, "template": text})))
        else:
            write_text(text)
        return
    found = shipped_prompts()
    if as_json:
        for prompt in found:
            write_json(utf8(json_text({"name": prompt.name, "idea": prompt.idea})))
        return
    width = max(len(prompt.name) for prompt in found)
    write_text("\n".join(f"{prompt.name:<{width}}  {prompt.idea}" for prompt in found))
