"""A short form of `python -m judges kills`: kill -9 at random moments of a save and of runs over a folder."""

from judges.fuzz import kills


def test_a_kill_leaves_the_old_file_or_the_new_one_and_what_the_next_run_removes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kills, "FILES", 10)
    status = kills.main(["--seed", "2", "--moments", "3", "--megabytes", "10", "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert [line.split()[-1] for line in printed.splitlines()[1:]] == ["0", "0", "0"], printed
    assert [*tmp_path.iterdir()] == []
